import type { X509Certificate } from "node:crypto";
import { isIP, type Socket } from "node:net";
import { connect, type SecureContext, type TLSSocket } from "node:tls";
import type { Clock } from "#platform";
import { type Failure, failed, tlsFailure } from "./failure.ts";

type Options = { budgetMs: number; clock: Clock; trust: SecureContext };

/** Puts TLS on a connected socket; the peer must prove that it is `hostname`. */
export function secure(
  tcp: Socket,
  hostname: string,
  { budgetMs, clock, trust }: Options,
): Promise<{ socket: Socket } | { failure: Failure }> {
  return new Promise((settle) => {
    const socket = connect({
      socket: tcp,
      host: hostname,
      // SNI carries only names; an address there violates the standard and upsets some servers.
      servername: isIP(hostname) === 0 ? hostname : "",
      ALPNProtocols: ["http/1.1"],
      secureContext: trust,
      // Set here so that no environment variable can turn it off.
      rejectUnauthorized: true,
    });
    const end = (failure: Failure): void => {
      cancel();
      settle({ failure });
      socket.destroy();
      tcp.destroy();
    };
    let ending: NodeJS.Immediate | undefined;
    const cancelTimer = clock.timer(budgetMs, () => {
      // Data that came in time but is unread, because this thread was busy, is read first.
      ending = setImmediate(() => end(lateFailure(socket, hostname)));
    });
    const cancel = (): void => {
      cancelTimer();
      clearImmediate(ending);
    };
    const onClose = (): void => end(failed("tls_failed", "closed during the handshake"));
    const onError = (error: Error): void => end(tlsFailure(error, certificate));
    // A refused certificate is gone by the time the error is reported.
    let certificate: X509Certificate | undefined;
    socket.prependOnceListener("secure", () => (certificate = socket.getPeerX509Certificate()));

    socket.once("secureConnect", () => {
      cancel();
      socket.off("close", onClose).off("error", onError);
      settle({ socket });
    });
    socket.once("close", onClose);
    socket.once("error", onError);
    // Stays for good: an error between here and the next owner's listener must not end the process.
    socket.on("error", () => {});
  });
}

/** A receiver that sent its certificate was in time and then stalled: no network is to blame. */
function lateFailure(socket: TLSSocket, hostname: string): Failure {
  const hasShown = socket.getPeerX509Certificate() !== undefined;
  return hasShown
    ? failed("tls_failed", "not finished after the certificate")
    : failed("tls_timeout", hostname);
}
