import { keepNewest } from "#platform";
import { behaviourOf, isSpecial, SILENCE_MS } from "./behaviour.ts";
import { encodeId } from "./smpp/codec/body.ts";
import { bare, command } from "./smpp/codec/header.ts";
import { status } from "./smpp/codec/status.ts";
import type { Connection } from "./smsc-connection.ts";
import type { ReceiptScript, ReceivedSubmit, Reply } from "./smsc-script.ts";

type Deps = {
  script: () => ReceiptScript;
  newId: () => string;
  later: (ms: number, run: () => void) => void;
  /** Sends one receipt for each state. */
  report: (
    connection: Connection,
    submit: ReceivedSubmit,
    id: string,
    script: ReceiptScript,
  ) => void;
};

/** How many segments are remembered with how often each came. */
const SEEN = 10_000;

/** Answers submits as the script says. */
export class SubmitAnswers {
  readonly #deps: Deps;
  readonly #seen = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  reply(connection: Connection, submit: ReceivedSubmit, reply: Reply): void {
    const { sequence } = submit;
    if (typeof reply === "object") return this.#replyAsScripted(connection, submit, reply);
    switch (reply) {
      case "accept":
        return this.#accept(connection, submit, this.#deps.script());
      case "accept_twice":
        this.#accept(connection, submit, this.#deps.script());
        return connection.send(submitResp(status.ok, sequence, this.#deps.newId()));
      case "never":
        return;
      case "throttle":
        return connection.send(submitResp(status.throttled, sequence));
      case "queue_full":
        return connection.send(submitResp(status.queueFull, sequence));
      case "refuse":
        return connection.send(submitResp(status.submitFailed, sequence));
      case "drop":
        return connection.drop();
      case "unbind":
        return connection.send(bare(command.unbind, 0, connection.nextSequence()));
      case "by_recipient":
        return this.#replyByRecipient(connection, submit);
    }
  }

  #replyAsScripted(
    connection: Connection,
    submit: ReceivedSubmit,
    reply: Exclude<Reply, string>,
  ): void {
    const { sequence } = submit;
    if ("afterMs" in reply) {
      return this.#deps.later(reply.afterMs, () => this.reply(connection, submit, reply.reply));
    }
    if ("nack" in reply) return connection.send(bare(command.genericNack, reply.nack, sequence));
    if ("raw" in reply) {
      return connection.send(reply.raw(submitResp(status.ok, sequence, this.#deps.newId())));
    }
    const { withBody = true } = reply;
    const bodiless = bare(command.submitSmResp, reply.status, sequence);
    connection.send(withBody ? submitResp(reply.status, sequence) : bodiless);
  }

  #replyByRecipient(connection: Connection, submit: ReceivedSubmit): void {
    const script = this.#deps.script();
    if (!isSpecial(submit.recipient)) return this.#accept(connection, submit, script);
    const attempt = this.#timesSeen(submit);
    const { answer, receipt } = behaviourOf(submit.recipient, { attempt, resent: attempt > 1 });
    switch (answer) {
      case "accept": {
        // If the same text comes again, it is a new message.
        this.#seen.delete(segmentKey(submit));
        const asScripted = {
          ...script,
          ...receipt,
          states: receipt === null ? [] : [receipt.state],
        };
        return this.#accept(connection, submit, asScripted);
      }
      case "refuse":
        return connection.send(submitResp(status.submitFailed, submit.sequence));
      case "throttle":
        return connection.send(submitResp(status.throttled, submit.sequence));
      case "silence":
        // SMPP cannot answer "in doubt": the connection is dropped, and the answer with it.
        return this.#deps.later(SILENCE_MS, () => connection.drop());
    }
  }

  #accept(connection: Connection, submit: ReceivedSubmit, script: ReceiptScript): void {
    const { later, newId, report } = this.#deps;
    const id = newId();
    const answer = () => connection.send(submitResp(status.ok, submit.sequence, id));
    const isReported = (submit.registeredDelivery & 3) !== 0;
    const send = () => isReported && report(connection, submit, id, script);
    switch (script.when) {
      case "never":
        return answer();
      case "before":
        send();
        return later(script.delayMs, answer);
      case "with_answer":
      case "after":
        answer();
        later(script.when === "after" ? script.delayMs : 0, send);
    }
  }

  /** How often this segment has come, this time included. */
  #timesSeen(submit: ReceivedSubmit): number {
    const key = segmentKey(submit);
    const times = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.delete(key);
    this.#seen.set(key, times);
    keepNewest(this.#seen, SEEN);
    return times;
  }
}

function segmentKey({ recipient, octets }: ReceivedSubmit): string {
  return `${recipient} ${octets.toString("latin1")}`;
}

function submitResp(code: number, sequence: number, id = ""): Buffer {
  return encodeId({ commandId: command.submitSmResp, status: code, sequence }, id);
}
