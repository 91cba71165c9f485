import type { Clock } from "#platform";

import type { Bind } from "./smpp/codec/body.ts";

/** Answers to a submit_sm that are told by name alone. */
export const replies = [
  /** By the recipient's last four digits, as the built-in simulator does. */
  "by_recipient",
  /** Accepts with an id; a receipt follows. */
  "accept",
  /** Accepts twice: nothing waits for the second answer's sequence number any more. */
  "accept_twice",
  /** Never answers; the connection stays open. */
  "never",
  "throttle",
  "queue_full",
  /** Refuses permanently. */
  "refuse",
  /** Closes the connection instead of answering. */
  "drop",
  /** Sends its own unbind instead of answering. */
  "unbind",
] as const;

/** How the SMSC answers one submit_sm. */
export type Reply =
  | (typeof replies)[number]
  | { status: number; withBody?: boolean }
  | { nack: number }
  /** Sends these bytes as they are; `respond` is the correct answer. */
  | { raw: (respond: Buffer) => Buffer }
  | { afterMs: number; reply: Reply };

export const receiptForms = ["text", "tlvs", "text_and_tlvs", "payload", "data_sm"] as const;

/** `before`: the receipt is sent `delayMs` before the answer. */
export const receiptTimes = ["after", "before", "with_answer", "never"] as const;

/** What becomes of an accepted submit. */
export type ReceiptScript = {
  when: (typeof receiptTimes)[number];
  delayMs: number;
  form: (typeof receiptForms)[number];
  /** One receipt for each state, in this order. */
  states: string[];
  err: string;
  /** How the receipt writes the id from the answer. */
  spellId: (id: string) => string;
  serviceType: string;
  esmClass: number;
  /** Receipts go to all receiving connections in turn, not only to the one that submitted. */
  onAnyConnection: boolean;
};

export type ReceivedSubmit = {
  /** The number of the connection, from 1. */
  connection: number;
  sequence: number;
  source: { ton: number; npi: number; address: string };
  recipient: string;
  /** Decoded from whatever encoding it came in, without its header. */
  text: string;
  octets: Buffer;
  esmClass: number;
  dataCoding: number;
  registeredDelivery: number;
  validityPeriod: string;
  /** From the header or the sar TLVs. */
  concatenation: { reference: number; total: number; number: number } | null;
};

export type SmscOptions = {
  host?: string;
  port?: number;
  /** If missing, anyone may bind. */
  credentials?: { systemId: string; password: string };
  tls?: { key: string; cert: string; ca?: string; requestCert?: boolean };
  clock?: Clock;
  answer?: Reply | ((submit: ReceivedSubmit) => Reply);
  /** The status in the bind's answer; `never`: there is no answer. */
  bind?: BindReply | ((bind: Bind) => BindReply);
  /** How ids are made; `number` counts from 1. */
  newId?: (number: number) => string;
  receipts?: Partial<ReceiptScript>;
  /** The delay before a receipt that was not taken is sent again. */
  repeatMs?: number;
  /** How many submits are remembered; 0 to only count them. */
  remember?: number;
};

export type BindReply = number | "never";

export const defaultReceipts: ReceiptScript = {
  when: "after",
  delayMs: 0,
  form: "text",
  states: ["DELIVRD"],
  err: "000",
  spellId: (id) => id,
  serviceType: "",
  esmClass: 0x04,
  onAnyConnection: false,
};
