import { connect as connectTcp, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls } from "node:tls";

import type { SmppSettings } from "./settings.ts";

/** A connection being made, and the event that says it is ready. */
export type Dialled = { socket: Socket; readyEvent: "connect" | "secureConnect" };

/**
 * The certificate and the name in it are verified unless the carrier's settings say otherwise: an
 * impostor in the SMSC's place would read the password.
 */
export function dial(settings: SmppSettings): Dialled {
  const { host, port } = settings;
  if (!settings.tls)
    return { socket: connectTcp({ host, port, noDelay: true }), readyEvent: "connect" };

  const name = settings.tlsServerName ?? host;
  const socket = connectTls({
    host,
    port,
    // TLS has no server name for an IP address; the certificate is still checked against it.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_name, certificate) => checkServerIdentity(name, certificate),
    ...(settings.tlsCa === null ? {} : { ca: settings.tlsCa }),
    ...(settings.tlsCert === null ? {} : { cert: settings.tlsCert }),
    ...(settings.tlsKey === null ? {} : { key: settings.tlsKey }),
    rejectUnauthorized: settings.tlsVerify,
    minVersion: "TLSv1.2",
  });
  socket.setNoDelay(true);
  return { socket, readyEvent: "secureConnect" };
}
