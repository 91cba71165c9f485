import { createRequire } from "node:module";
import type { AddressInfo, Server } from "node:net";

/** A PDU as npm `smpp` parses it: with the protocol's own field names. */
export type NpmPdu = {
  command: string;
  command_status: number;
  sequence_number: number;
  message_id: string;
  short_message: { message: string; udh?: Buffer[] };
  message_payload?: { message: string };
  [field: string]: unknown;
  response(fields?: object): NpmPdu;
};

export type NpmSession = {
  on(event: string, run: (pdu: NpmPdu) => void): void;
  send(pdu: NpmPdu): boolean;
  bind_transmitter(fields: object, run: (pdu: NpmPdu) => void): void;
  bind_receiver(fields: object, run: (pdu: NpmPdu) => void): void;
  bind_transceiver(fields: object, run: (pdu: NpmPdu) => void): void;
  submit_sm(fields: object, run: (pdu: NpmPdu) => void): void;
  deliver_sm(fields: object, run: (pdu: NpmPdu) => void): void;
  enquire_link(run: (pdu: NpmPdu) => void): void;
  unbind(run: (pdu: NpmPdu) => void): void;
  close(): void;
  destroy(): void;
};

type NpmSmpp = {
  connect(options: { host: string; port: number }): NpmSession;
  createServer(onSession: (session: NpmSession) => void): Server;
  PDU: {
    new (command: string, fields: object): { toBuffer(): Buffer };
    fromBuffer(octets: Buffer): NpmPdu;
  };
};

/** npm `smpp` was written by others and shares no code with ours; it has no types. */
export const npmSmpp = createRequire(import.meta.url)("smpp") as NpmSmpp;

export type NpmServer = {
  port: number;
  /** In the order in which they connected. */
  sessions: NpmSession[];
  [Symbol.asyncDispose](): Promise<void>;
};

export async function npmServer(onSession: (session: NpmSession) => void): Promise<NpmServer> {
  const sessions: NpmSession[] = [];
  const server = npmSmpp.createServer((session) => {
    sessions.push(session);
    // Without a listener, a lost connection would end the process.
    session.on("error", () => {});
    onSession(session);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sessions,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Calls a request method of the session, and waits for its answer. */
export function ask(call: (run: (pdu: NpmPdu) => void) => void): Promise<NpmPdu> {
  return new Promise((resolve) => call(resolve));
}
