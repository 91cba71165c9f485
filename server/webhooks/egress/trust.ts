import { constants } from "node:crypto";
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  getCACertificates,
  type SecureContext,
} from "node:tls";

/**
 * Which receivers we trust: those with the usual authorities and those that the operator adds with
 * NODE_EXTRA_CA_CERTS, which Node reads itself. Made once, because reading them takes milliseconds.
 * TLS 1.2 is the oldest version, without the parts that let a receiver with a valid certificate
 * block its thread: it chooses the numbers of a finite-field exchange (10,000 bits take seconds),
 * and may show other certificates at each renegotiation.
 */
export function trust(extraCertificates: readonly string[] = []): SecureContext {
  const spoken = {
    minVersion: "TLSv1.2",
    ciphers: `${DEFAULT_CIPHERS}:!DHE`,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  } as const;
  if (extraCertificates.length === 0) return createSecureContext(spoken);
  const ca = [...getCACertificates("default"), ...extraCertificates];
  return createSecureContext({ ...spoken, ca });
}
