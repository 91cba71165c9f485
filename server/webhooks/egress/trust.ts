import { constants } from "node:crypto";
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  getCACertificates,
  type SecureContext,
} from "node:tls";

/**
 * Whom we believe on the other side: the usual authorities and those the operator adds with
 * NODE_EXTRA_CA_CERTS, which Node reads itself. Made once, because reading the authorities takes
 * milliseconds. TLS 1.2 is the oldest we speak, without the parts of it that let a receiver with a
 * sound certificate hold up its thread: it chooses the numbers of a finite-field exchange, 10,000 bits of
 * which take seconds, and may show other certificates each time that it renegotiates.
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
