/** Plain words for the error codes that the system and the TLS library give failed connections. */
const WORDS: Record<string, string> = {
  ECONNREFUSED: "the carrier refused the connection",
  ECONNRESET: "the carrier reset the connection",
  EPIPE: "the carrier closed the connection",
  ETIMEDOUT: "the carrier did not answer in time",
  EHOSTUNREACH: "there is no way to the carrier's address",
  ENETUNREACH: "there is no way to the carrier's network",
  ENOTFOUND: "nobody knows the carrier's host name",
  EAI_AGAIN: "the carrier's host name could not be looked up",
  EACCES: "this machine does not allow the connection",
  EPERM: "this machine does not allow the connection",
  EADDRNOTAVAIL: "this machine has no address or port left for the connection",
  EMFILE: "this process has too many open connections and files",
  CERT_HAS_EXPIRED: "the carrier's certificate has expired",
  CERT_NOT_YET_VALID: "the carrier's certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the carrier's certificate is signed by itself alone",
  SELF_SIGNED_CERT_IN_CHAIN: "the carrier's certificate is signed by nobody trusted here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the carrier's certificate is signed by nobody trusted here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the carrier's certificate is signed by nobody trusted here",
  ERR_TLS_CERT_ALTNAME_INVALID: "the carrier's certificate is for another name",
  EPROTO: "no TLS connection came about",
};

/**
 * Why a connection failed, as a clause for people, with the code to search for. If a host has
 * several addresses, the error is a list of errors with a code but no message of its own.
 */
export function connectionProblem(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code !== "string") return `the connection failed: ${String(message ?? error)}`;
  if (Object.hasOwn(WORDS, code)) return `${WORDS[code]} (${code})`;
  if (code.startsWith("ERR_SSL_")) return `no TLS connection came about (${code})`;
  if (code.startsWith("ERR_OSSL_")) return `a certificate or key cannot be read (${code})`;
  return `the connection failed (${code})`;
}

/** The errors when a peer closes or garbles a connection that it does not understand. */
const NOT_UNDERSTOOD = new Set(["ECONNRESET", "EPIPE", "EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER"]);

export function isNotUnderstood({ code = "" }: NodeJS.ErrnoException): boolean {
  return NOT_UNDERSTOOD.has(code);
}
