import type { Detail, DetailCode, NewMessage } from "#contract";
import { judgeSender } from "#contract/sender";
import { countSegments, MAX_SEGMENTS } from "#contract/segments";
import { DAY_MS, hasVisible, readTime, timeOfId } from "#platform";
import { newMessageId } from "./message-id.ts";
import type { MessageRow } from "./message-row.ts";
import { judgeRecipient } from "./recipient.ts";
import type { Routing } from "./routing.ts";

/** Judges a callback address. This is the egress guard, which also judges each connection. */
export type JudgeUrl = (
  raw: string,
) => { allowed: true } | { allowed: false; code: DetailCode; message: string };

export type DraftContext = {
  now: Date;
  routing: Routing;
  judgeUrl: JudgeUrl;
  concatReference: ConcatReference;
};
export type ConcatReference = (recipient: string) => number;

export type Draft =
  | { outcome: "drafted"; message: MessageRow; country: string | null }
  | { outcome: "invalid"; details: Detail[] };

const MAX_DAYS_AHEAD = 35;
export const DEFAULT_VALIDITY_SECONDS = 86_400;
const MAX_METADATA_OCTETS = 2_048;

/** Filled in by the code that accepts the message. */
const NOT_YET = { account_id: "", key_id: null } as const;

/**
 * Makes a message row from what a client sent, or names everything that is wrong with it. Decides
 * nothing that needs the database, neither the key nor the balance.
 */
export function draftMessage(body: NewMessage, context: DraftContext): Draft {
  const judged = judgeFields(body, context);
  if (judged.details.length > 0) return { outcome: "invalid", details: judged.details };
  const { recipient, country, sender, callbackUrl, encoding, segments, sendAt } = judged;
  const { credits, carrierId } = judged;
  const messageId = newMessageId(context.now.getTime());
  // Taken from the id, so that the two never disagree.
  const createdAt = timeOfId(messageId);
  const validFrom = (sendAt ?? createdAt).getTime();
  const message: MessageRow = {
    ...NOT_YET,
    message_id: messageId,
    recipient,
    sender,
    text: body.text,
    encoding,
    segments,
    credits,
    status: "QUEUED",
    sequence: 1,
    reference: body.reference ?? null,
    metadata: body.metadata ? JSON.stringify(body.metadata) : null,
    callback_url: callbackUrl,
    concat_reference: segments > 1 ? context.concatReference(recipient) : 0,
    carrier_id: carrierId,
    error_code: null,
    error_carrier_code: null,
    created_at: createdAt,
    send_at: sendAt,
    expires_at: new Date(validFrom + (body.validitySeconds ?? DEFAULT_VALIDITY_SECONDS) * 1000),
    sent_at: null,
    final_at: null,
  };
  return { outcome: "drafted", message, country };
}

/** Judges each field that has the right type. Fields in `wrong` are already named. */
export function judgeFields(
  body: NewMessage,
  { now, routing, judgeUrl }: Pick<DraftContext, "now" | "routing" | "judgeUrl">,
  wrong: ReadonlySet<string> = NONE,
) {
  const details: Detail[] = [];
  const refuse = (field: string, code: DetailCode, message: string, more: Partial<Detail> = {}) =>
    void details.push({ field, code, message, ...more });
  const given = (field: keyof NewMessage) => !wrong.has(field) && typeof body[field] === "string";

  let [recipient, country]: [string, string | null] = ["", null];
  if (given("recipient")) {
    const judged = judgeRecipient(body.recipient);
    if (judged.outcome === "valid") ({ recipient, country } = judged);
    else refuse("recipient", "RECIPIENT_INVALID", judged.message);
  }

  const carrierId = recipient === "" ? null : (routing.carriersFor(recipient)?.[0] ?? null);
  if (recipient !== "" && carrierId === null)
    refuse("recipient", "RECIPIENT_NOT_SERVED", `No route serves ${recipient}.`);

  let text: { encoding: "gsm7" | "ucs2"; segments: number } = { encoding: "gsm7", segments: 0 };
  if (given("text")) {
    const { encoding } = body;
    const judged = judgeText(
      body.text,
      encoding === "gsm7" || encoding === "ucs2" ? encoding : "auto",
    );
    if ("code" in judged) refuse("text", judged.code, judged.message);
    else text = judged;
  }

  // If the recipient, the text or its encoding is wrong, there is no price to judge.
  const credits = recipient === "" ? 0 : text.segments * routing.priceFor(recipient);
  const { maxCredits } = body;
  const isJudged = !wrong.has("maxCredits") && !wrong.has("encoding");
  if (isJudged && typeof maxCredits === "number" && credits > maxCredits) {
    const message = `The message costs ${credits} credits, more than maxCredits ${maxCredits}.`;
    const more = { required: credits, available: maxCredits };
    refuse("maxCredits", "PRICE_ABOVE_LIMIT", message, more);
  }

  let sender: string | null = null;
  if (given("sender")) {
    const judged = judgeSender(body.sender as string);
    if (judged.outcome === "valid") ({ sender } = judged);
    else refuse("sender", "SENDER_INVALID", judged.message);
  }

  const callbackUrl = given("callbackUrl") ? (body.callbackUrl as string) : null;
  if (callbackUrl !== null) {
    const judged = judgeUrl(callbackUrl);
    if (!judged.allowed) refuse("callbackUrl", judged.code, judged.message);
  }

  if (given("reference") && !isReference(body.reference as string)) {
    refuse(
      "reference",
      "REFERENCE_INVALID",
      "A reference has at most 128 characters, no NUL and no unpaired surrogate.",
    );
  }
  if (!wrong.has("metadata") && isTextMap(body.metadata)) {
    const fault = judgeMetadata(body.metadata);
    if (fault) refuse("metadata", "METADATA_INVALID", fault);
  }

  let sendAt: Date | null = null;
  if (given("sendAt")) {
    const judged = judgeSendAt(body.sendAt as string, now);
    if (judged.outcome === "valid") ({ sendAt } = judged);
    else refuse("sendAt", "SEND_AT_INVALID", judged.message);
  }

  return { details, recipient, country, sender, callbackUrl, sendAt, ...text, credits, carrierId };
}

/** Refused because of routes or prices, which may have changed since they were read. */
export function isByRouting({ code }: Detail): boolean {
  return code === "RECIPIENT_NOT_SERVED" || code === "PRICE_ABOVE_LIMIT";
}

const NONE: ReadonlySet<string> = new Set();

const MOST_NAMED = 10;

function nameThem(characters: { character: string; position: number }[]): string {
  const named = characters
    .slice(0, MOST_NAMED)
    .map(({ character, position }) => `${JSON.stringify(character)} at ${position}`);
  const others = characters.length - named.length;
  return others > 0 ? `${named.join(", ")} and ${others} more` : named.join(", ");
}

type JudgedText =
  | { encoding: "gsm7" | "ucs2"; segments: number }
  | { code: DetailCode; message: string };

function judgeText(text: string, choice: "auto" | "gsm7" | "ucs2"): JudgedText {
  if (text.includes("\0"))
    return { code: "TEXT_INVALID", message: "The text must not contain a NUL character." };
  if (!text.isWellFormed())
    return {
      code: "TEXT_INVALID",
      message: "The text contains an unpaired surrogate; send whole characters.",
    };
  if (!hasVisible(text)) {
    return { code: "TEXT_INVALID", message: "The text needs at least one visible character." };
  }
  const counted = countSegments(text, choice);
  if (counted.outcome === "not_gsm7") {
    return {
      code: "TEXT_NOT_GSM7",
      message: `These characters are not in the GSM alphabet: ${nameThem(counted.nonGsmCharacters)}. Replace them, or use encoding auto.`,
    };
  }
  if (counted.segments > MAX_SEGMENTS) {
    return {
      code: "TEXT_TOO_LONG",
      message: `The text needs ${counted.segments} segments; the limit is ${MAX_SEGMENTS}. Shorten it or send several messages.`,
    };
  }
  return { encoding: counted.encoding, segments: counted.segments };
}

function isReference(text: string): boolean {
  const length = text.length > 256 ? text.length : [...text].length;
  return length <= 128 && isStorable(text);
}

function isTextMap(value: unknown): value is Record<string, string> {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  return isMap && Object.values(value).every((entry) => typeof entry === "string");
}

function judgeMetadata(metadata: Record<string, string>): string | undefined {
  const json = JSON.stringify(metadata);
  const octets = Buffer.byteLength(json);
  if (octets > MAX_METADATA_OCTETS)
    return `Metadata has ${octets} bytes as JSON; the limit is ${MAX_METADATA_OCTETS}.`;
  const isSound = Object.entries(metadata).every(
    ([name, value]) => isStorable(name) && isStorable(value),
  );
  return isSound ? undefined : "Metadata must not contain NUL characters or unpaired surrogates.";
}

/** PostgreSQL stores any text but NUL. A lone surrogate would be stored as another character. */
function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

type JudgedTime = { outcome: "valid"; sendAt: Date } | { outcome: "invalid"; message: string };

function judgeSendAt(text: string, now: Date): JudgedTime {
  const invalid = (message: string) => ({ outcome: "invalid", message }) as const;
  const sendAt = readTime(text);
  if (!sendAt)
    return invalid(
      "sendAt must be an ISO 8601 time with a zone, such as 2026-12-24T18:00:00.000Z.",
    );
  if (sendAt <= now) return invalid("sendAt must be in the future.");
  const isTooLate = sendAt.getTime() > now.getTime() + MAX_DAYS_AHEAD * DAY_MS;
  return isTooLate
    ? invalid(`sendAt must be within ${MAX_DAYS_AHEAD} days.`)
    : { outcome: "valid", sendAt };
}
