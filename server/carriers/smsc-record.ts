import type { PduSeen } from "./smsc-connection.ts";
import type { ReceivedSubmit } from "./smsc-script.ts";

/** How many submits and answers are kept; counting goes on beyond that. */
const REMEMBERED = 100_000;

/** What an SMSC received, and a way to wait for it. */
export class SmscRecord {
  readonly received: ReceivedSubmit[] = [];
  readonly deliveryAnswers: { sequence: number; status: number }[] = [];
  readonly #remembered: number;
  readonly #pduCounts = new Map<number, number>();
  readonly #lastPdus = new Map<number, PduSeen>();
  #waiting: { isMet: () => boolean; resolve: () => void }[] = [];
  submits = 0;

  constructor(remembered = REMEMBERED) {
    this.#remembered = remembered;
  }

  submit(submit: ReceivedSubmit): void {
    this.submits += 1;
    if (this.received.length < this.#remembered) this.received.push(submit);
    this.announce();
  }

  pdu(pdu: PduSeen): void {
    this.#pduCounts.set(pdu.commandId, this.pduCount(pdu.commandId) + 1);
    this.#lastPdus.set(pdu.commandId, pdu);
    this.announce();
  }

  deliveryAnswer({ sequence, status }: PduSeen): void {
    if (this.deliveryAnswers.length < this.#remembered)
      this.deliveryAnswers.push({ sequence, status });
  }

  pduCount(commandId: number): number {
    return this.#pduCounts.get(commandId) ?? 0;
  }

  lastPdu(commandId: number): PduSeen | undefined {
    return this.#lastPdus.get(commandId);
  }

  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }));
  }

  /** Something changed: resolves the waits it fulfils, once the change has been handled. */
  announce(): void {
    if (this.#waiting.length === 0) return;
    queueMicrotask(() => {
      const met = this.#waiting.filter(({ isMet }) => isMet());
      this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting));
      for (const { resolve } of met) resolve();
    });
  }
}
