import { command } from "./smpp/codec/header.ts";
import { status } from "./smpp/codec/status.ts";
import type { Connection, PduSeen } from "./smsc-connection.ts";
import { type OwedReceipt, receiptPdu } from "./smsc-receipt-pdu.ts";
import type { ReceiptScript } from "./smsc-script.ts";

/** How many receipts may wait for a bind that can receive; more are lost, as in a real SMSC. */
const OWED = 100_000;

type Deps = {
  connections: ReadonlySet<Connection>;
  script: () => ReceiptScript;
  later: (ms: number, run: () => void) => void;
  /** The delay before a receipt that was not taken is sent again. */
  repeatMs: number;
};

/** The receipts of an SMSC: each is sent, on any bind that can receive, until it gets ESME_ROK. */
export class OwedReceipts {
  readonly #deps: Deps;
  readonly #owed: OwedReceipt[] = [];
  readonly #unanswered = new Map<Connection, Map<number, OwedReceipt>>();
  #turn = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Sends on the connection that submitted, if it can receive; otherwise on any that can. */
  send(owed: OwedReceipt, submitter: Connection): void {
    const connection = this.#receiverFor(submitter);
    if (connection === undefined) return this.#owe(owed);
    const sequence = connection.nextSequence();
    this.#unansweredOn(connection).set(sequence, owed);
    connection.send(receiptPdu(owed, this.#deps.script(), sequence));
  }

  onBound(connection: Connection): void {
    for (const owed of this.#owed.splice(0)) this.send(owed, connection);
  }

  onAnswer(connection: Connection, pdu: PduSeen): void {
    const unanswered = this.#unansweredOn(connection);
    const owed = unanswered.get(pdu.sequence);
    unanswered.delete(pdu.sequence);
    if (owed === undefined || pdu.status !== status.temporaryAppError) return;
    this.#deps.later(this.#deps.repeatMs, () => this.send(owed, connection));
  }

  onClose(connection: Connection): void {
    for (const owed of this.#unansweredOn(connection).values()) this.#owe(owed);
    this.#unanswered.delete(connection);
  }

  #unansweredOn(connection: Connection): Map<number, OwedReceipt> {
    return this.#unanswered.getOrInsertComputed(connection, () => new Map());
  }

  #receiverFor(submitter: Connection): Connection | undefined {
    if (canReceive(submitter) && !this.#deps.script().onAnyConnection) return submitter;
    const receivers = [...this.#deps.connections].filter(canReceive);
    this.#turn += 1;
    return receivers[this.#turn % Math.max(1, receivers.length)];
  }

  #owe(owed: OwedReceipt): void {
    if (this.#owed.length < OWED) this.#owed.push(owed);
  }
}

export function isDeliveryAnswer({ commandId }: PduSeen): boolean {
  return commandId === command.deliverSmResp || commandId === command.dataSmResp;
}

function canReceive({ bound, isClosed }: Connection): boolean {
  return bound?.canReceive === true && !isClosed;
}
