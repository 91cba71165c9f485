import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";

const TOKEN_OCTETS = 32;
const MAC_OCTETS = 32;
/** The longest life of a session; the server may end it earlier. */
const MAX_AGE_SECONDS = 7 * 24 * 3600;

export type SessionCookie = {
  /** A new token, and the header that sets it as a cookie. */
  issue(): { header: string; tokenHash: Buffer };
  /** The hash by which the table knows the request's token; undefined if we did not sign it. */
  read(cookies: string | undefined): Buffer | undefined;
  /** The header that removes the cookie. */
  clear(): string;
};

/**
 * The cookie of a session: a random token, signed. The table holds only the token's hash, and the
 * signing key is not in the database: neither reading nor writing the table lets anybody sign in.
 */
export function sessionCookie({
  key,
  isSecure,
}: {
  key: Buffer;
  isSecure: boolean;
}): SessionCookie {
  // Over plain http, browsers drop a cookie marked Secure, and sign-in would seem to fail.
  const name = isSecure ? "__Host-posthorn_session" : "posthorn_session";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  const sign = (token: Buffer) => createHmac("sha256", key).update(token).digest();
  return {
    issue() {
      const token = randomBytes(TOKEN_OCTETS);
      const value = Buffer.concat([token, sign(token)]).toString("base64url");
      return {
        header: `${name}=${value}; ${attributes}; Max-Age=${MAX_AGE_SECONDS}`,
        tokenHash: hashToken(token),
      };
    },
    read(cookies) {
      const value = find(cookies ?? "", name);
      if (value === undefined) return undefined;
      const octets = Buffer.from(value, "base64url");
      if (octets.length !== TOKEN_OCTETS + MAC_OCTETS) return undefined;
      const token = octets.subarray(0, TOKEN_OCTETS);
      if (!timingSafeEqual(octets.subarray(TOKEN_OCTETS), sign(token))) return undefined;
      return hashToken(token);
    },
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  };
}

function find(cookies: string, name: string): string | undefined {
  const pairs = cookies.split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function hashToken(token: Buffer): Buffer {
  return hash("sha256", token, "buffer");
}
