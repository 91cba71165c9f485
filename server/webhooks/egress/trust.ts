import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

/**
 * Whom we believe on the other side: the usual authorities and those the operator adds with
 * NODE_EXTRA_CA_CERTS, which Node reads itself. Made once, because reading the authorities takes
 * milliseconds. TLS 1.2 is the oldest we speak.
 */
export function trust(extraCertificates: readonly string[] = []): SecureContext {
  const minVersion = "TLSv1.2";
  if (extraCertificates.length === 0) return createSecureContext({ minVersion });
  const ca = [...getCACertificates("default"), ...extraCertificates];
  return createSecureContext({ minVersion, ca });
}
