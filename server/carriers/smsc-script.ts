import type { Clock } from "#platform";

import type { Bind } from "./smpp/codec/body.ts";

/** Answers to a submit_sm that need no more than a name. */
export const replies = [
  /** By the recipient's last four digits, as the built-in simulator does. */
  "by_recipient",
  /** With an id, and later a receipt. */
  "accept",
  /** Twice: the second answer has a sequence number that nobody waits for any more. */
  "accept_twice",
  /** The connection stays open, and nothing comes. */
  "never",
  "throttle",
  "queue_full",
  /** For good. */
  "refuse",
  /** Closes the connection instead of an answer. */
  "drop",
  /** Sends its own unbind instead of an answer. */
  "unbind",
] as const;

/** How the SMSC answers one submit_sm. */
export type Reply =
  | (typeof replies)[number]
  | { status: number; withBody?: boolean }
  | { nack: number }
  /** Octets as they are; `respond` is the answer that would be right. */
  | { raw: (respond: Buffer) => Buffer }
  | { afterMs: number; reply: Reply };

export const receiptForms = ["text", "tlvs", "text_and_tlvs", "payload", "data_sm"] as const;

/** `before`: the receipt is on its way `delayMs` before the answer is. */
export const receiptTimes = ["after", "before", "with_answer", "never"] as const;

/** What becomes of an accepted submit. */
export type ReceiptScript = {
  when: (typeof receiptTimes)[number];
  delayMs: number;
  form: (typeof receiptForms)[number];
  /** One receipt for each, in this order. */
  states: string[];
  err: string;
  /** How the receipt spells the id of the answer. */
  spellId: (id: string) => string;
  serviceType: string;
  esmClass: number;
  /** Receipts come in order of their connection's turn, not only on the one that submitted. */
  onAnyConnection: boolean;
};

export type ReceivedSubmit = {
  /** Counts connections from 1. */
  connection: number;
  sequence: number;
  source: { ton: number; npi: number; address: string };
  recipient: string;
  /** In characters, without its header, whatever it came in. */
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
  /** Anyone may bind unless given. */
  credentials?: { systemId: string; password: string };
  tls?: { key: string; cert: string; ca?: string; requestCert?: boolean };
  clock?: Clock;
  answer?: Reply | ((submit: ReceivedSubmit) => Reply);
  /** The status of the bind's answer; never: there is none. */
  bind?: BindReply | ((bind: Bind) => BindReply);
  /** How ids are made; the number counts from 1. */
  newId?: (number: number) => string;
  receipts?: Partial<ReceiptScript>;
  /** After how long a receipt that was not taken is sent again. */
  repeatMs?: number;
  /** How many submits are remembered; 0 for one that only counts. */
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
