import type { NewMessage } from "#contract";
import { isIdempotencyKey, type MessageRow, present } from "#messages";
import { DatabaseUnavailable } from "#platform";
import { accountOption, requireAccount } from "./accounts.ts";
import { command, CommandFailure, WrongCall } from "./command.ts";
import { flag, optional, required, withFallback } from "./input.ts";
import { durationMs, moment, momentAfter, oneOf, text, wholeNumber } from "./input-values.ts";
import { facts } from "./table.ts";
import { sendFromTerminal } from "./terminal-sender.ts";
import { watchMessage } from "./watch-message.ts";

const send = command({
  name: "send",
  summary: "Sends a message; it is charged, stored and sent like one from the API.",
  options: {
    account: accountOption,
    to: required("RECIPIENT", text, "The number, in E.164 format."),
    text: required("TEXT", (value) => value, "What to send, at most 10 segments."),
    sender: optional("SENDER", text, "The sender, instead of the account's default."),
    callbackUrl: optional("URL", text, "Receives a signed webhook on every change of status."),
    reference: optional("TEXT", text, "Your own id for the message."),
    metadata: optional("JSON", stringMap, 'An object of strings, such as {"order":"17"}.'),
    encoding: optional("ENCODING", oneOf(["auto", "gsm7", "ucs2"]), "auto, gsm7 or ucs2."),
    maxCredits: optional("N", wholeNumber(1), "Refuse the message if it costs more."),
    sendAt: optional(
      "TIME",
      moment,
      "When to send, at most 35 days ahead: an ISO time, or a time from now such as 2h.",
    ),
    validitySeconds: optional(
      "N",
      wholeNumber(60, 259_200),
      "How long it may wait to be handed over. Default: 86400, a day.",
    ),
    idempotencyKey: optional(
      "KEY",
      idempotencyKey,
      "Repeating the command with the same key sends only once; --send-at must then be an ISO time.",
    ),
    watch: flag(
      "Follow the message to its end, and print its final state; exits 1 unless it is DELIVERED.",
    ),
    timeout: withFallback("DURATION", durationMs, {
      meaning: "Longest time to watch.",
      fallback: "2m",
    }),
  },
  prints: "the message, as in the API; with --watch its final state",
  examples: [
    'send --account 019a85c2-5b00-7abc-8def-0123456789ab --to 4915112345678 --text "Hello" --watch',
  ],
  async run({ account, to, sendAt: wish, watch, timeout, idempotencyKey, ...fields }, context) {
    // A relative time would differ on a repeat, so the key would not match the same message.
    if (idempotencyKey !== undefined && wish && !("at" in wish))
      throw new WrongCall("With --idempotency-key, --send-at must be an ISO time.");
    const { db } = await context.installation();
    await requireAccount(db, account);
    const sendAt = wish && momentAfter(wish, context.clock.now()).toISOString();
    const body = { recipient: to, ...given({ ...fields, sendAt }) };
    const row = await sendFromTerminal(context, { accountId: account, body, idempotencyKey });
    const watching = () => watchMessage(context, row, timeout).catch(lostOfSight(row));
    const message = watch ? await watching() : present(row);
    return {
      json: message,
      text: facts(message),
      isFault: watch && message.status !== "DELIVERED",
    };
  },
});

/** Otherwise the user may think that it failed, and send it again. */
function lostOfSight({ message_id }: MessageRow) {
  return (error: unknown): never => {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw new CommandFailure(
      `The message was accepted as ${message_id}, but can no longer be watched: the connection to the database was lost (${error.message}). Do not send it again.`,
    );
  };
}

type Fields = { text: string } & { [Name in keyof NewMessage]?: NewMessage[Name] | undefined };

function given(fields: Fields): Omit<NewMessage, "recipient"> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Omit<NewMessage, "recipient">;
}

function idempotencyKey(value: string): string {
  if (!isIdempotencyKey(value)) throw new Error("must have 1 to 255 printable ASCII characters.");
  return value;
}

function stringMap(value: string): Record<string, string> {
  const parsed = parseJson(value);
  const isMap =
    typeof parsed === "object" &&
    parsed !== null &&
    !Array.isArray(parsed) &&
    Object.values(parsed).every((each) => typeof each === "string") &&
    Object.keys(parsed).length <= 20;
  if (!isMap)
    throw new Error('must be a JSON object of at most 20 strings, such as {"order":"17"}.');
  return parsed as Record<string, string>;
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

export const sendCommands = [send];
