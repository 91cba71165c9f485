import type { ErrorCode, NewMessage } from "#contract";
import { errors } from "#contract/words";
import { Problem } from "#http/problem";
import { acceptor, concatReferences, type MessageRow, routingTable, sendMessages } from "#messages";
import { createMetrics, newId, quoted } from "#platform";
import { judgeUrl, servicePolicy } from "#webhooks";
import { ACTOR, CommandFailure, type Context, type Installation } from "./command.ts";
import { optionName } from "./input.ts";

type TerminalSendRequest = {
  accountId: string;
  body: NewMessage;
  idempotencyKey: string | undefined;
};

/** Accepts a message in the same way as the API; any node that sends takes it from the queue. */
export async function sendFromTerminal(
  context: Context,
  { accountId, body, idempotencyKey }: TerminalSendRequest,
): Promise<MessageRow> {
  const deps = sendDeps(context, await context.installation());
  const sender = { accountId, keyId: null, actor: ACTOR };
  // Without a key given, this one is shown if it is unknown whether the message was accepted.
  const key = idempotencyKey ?? newId(context.clock.now().getTime());
  try {
    const sent = await sendMessages(deps, sender, { body, idempotencyKey: key });
    if (sent.isReplayed)
      context.terminal.say("It was already sent with this key; nothing was sent now.");
    return sent.rows[0] as MessageRow;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new CommandFailure(
      error.code === "INTERNAL" ? doubt(key, body) : sentences(error, accountId),
    );
  }
}

function sendDeps({ clock }: Context, installation: Installation) {
  const { db, log, settings } = installation;
  const limits = { sends: settings.rateLimitSends, sendsBurst: settings.rateLimitSendsBurst };
  const nodeId = newId(clock.now().getTime());
  const policy = servicePolicy(installation);
  const accept = acceptor({
    db,
    clock,
    log,
    metrics: createMetrics(),
    settings: { nodeId, ...limits },
    intake: undefined,
  });
  return {
    db,
    clock,
    accept,
    routing: routingTable(db),
    judgeUrl: (raw: string) => judgeUrl(raw, policy),
    concatReference: concatReferences(),
    limits,
  };
}

function doubt(key: string, { sendAt }: NewMessage): string {
  // A time relative to now would mean another time by then.
  const at = sendAt ? ` --send-at ${sendAt}` : "";
  return `The connection to the database was lost before it answered. The message may have been accepted. Repeat the command with --idempotency-key ${quoted(key)}${at} to send it only once.`;
}

/** What the API would answer, with names of options in place of fields. */
function sentences({ code, message, details }: Problem, accountId: string): string {
  const lines = details.map(({ field, message }) =>
    field === null ? message : `--${field === "recipient" ? "to" : optionName(field)}: ${message}`,
  );
  const fix = code === "VALIDATION_FAILED" ? [] : [fixOf(code, accountId)];
  return [...(lines.length > 0 ? lines : [message]), ...fix].join("\n");
}

/** A user at the terminal can do what an API client must ask the operator for. */
function fixOf(code: ErrorCode, accountId: string): string {
  if (code === "CREDITS_INSUFFICIENT")
    return `Add some with: npx posthorn credits add --account ${accountId} --amount N --note TEXT`;
  if (code === "RECIPIENT_NOT_SERVED")
    return "Set a route with: npx posthorn route set PREFIX CARRIER";
  if (code === "PRICE_ABOVE_LIMIT") return "Shorten the text, or raise --max-credits.";
  return errors[code].fix.replaceAll("`", "");
}
