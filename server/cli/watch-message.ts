import type { HistoryEntry, Message } from "#contract";
import { findMessage, type MessageRow, present } from "#messages";
import { livingSenders, submissionHistory } from "#sending";
import type { Context } from "./command.ts";

const LOOK_EVERY_MS = 100;

/** Reports on standard error what happens to a message, until it has ended or time is up. */
export async function watchMessage(
  context: Context,
  { account_id, message_id }: MessageRow,
  timeoutMs: number,
): Promise<Message> {
  const { db, isAlone } = await context.installation();
  const { clock, terminal, signal } = context;
  const until = clock.monotonicMs() + timeoutMs;
  const told = new Set<string>();
  // First: a user who stops watching must know that the message was accepted.
  terminal.say(`Accepted as ${message_id}.`);
  if (isAlone || (await livingSenders(db)).length === 0)
    terminal.say(
      `No service is sending now; the message is waiting. ${isAlone ? END_FIRST : START_ONE}`,
    );
  for (;;) {
    const { row, history } = await db.snapshot(async (snapshot) => ({
      row: await findMessage(snapshot, account_id, message_id),
      history: await submissionHistory(snapshot, message_id),
    }));
    if (!row) throw new Error(`Message ${message_id} is gone.`);
    const message = present(row);
    for (const line of storyOf(message, history)) {
      if (!told.has(line)) terminal.say(line);
      told.add(line);
    }
    if (isFinal(message)) return message;
    if (clock.monotonicMs() > until || signal.aborted) {
      terminal.say(`It is still ${message.status}: ${WAITING[message.status]}`);
      return message;
    }
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

const START_ONE = "Start one with: npm start";
const END_FIRST = "End this with Ctrl+C, then start one with: npm start";

const WAITING: Record<string, string> = {
  QUEUED: "it waits to be handed to a carrier. If none is up, npx posthorn carrier list says why.",
  SENT: "no receipt has come yet, and one may never come.",
};

function isFinal({ status }: Message): boolean {
  return status === "DELIVERED" || status === "UNDELIVERED" || status === "FAILED";
}

type Step = { at: string; rank: number; line: string };

/** What has happened to a message so far, in order, a line each. */
export function storyOf(message: Message, history: readonly HistoryEntry[]): string[] {
  const steps = [...statusSteps(message), ...history.map(historyStep)];
  const inOrder = steps.toSorted((a, b) => a.at.localeCompare(b.at) || a.rank - b.rank);
  return inOrder.map(({ line }) => line);
}

/** Taken from the message's own times: a status may have come and gone between two looks. */
function statusSteps(message: Message): Step[] {
  const { createdAt, sentAt, updatedAt, status, error } = message;
  const reason = error === null ? "" : `: ${error.code}, ${error.message}`;
  return [
    { at: createdAt, rank: 0, line: `${createdAt}  QUEUED` },
    ...(sentAt === null ? [] : [{ at: sentAt, rank: 2, line: `${sentAt}  SENT` }]),
    ...(isFinal(message)
      ? [{ at: updatedAt, rank: 4, line: `${updatedAt}  ${status}${reason}` }]
      : []),
  ];
}

function historyStep(entry: HistoryEntry): Step {
  return { at: entry.at, rank: entry.type === "receipt" ? 3 : 1, line: lineOf(entry) };
}

function lineOf(entry: HistoryEntry): string {
  switch (entry.type) {
    case "submission":
      return `${entry.at}    segment ${entry.segment} to ${entry.carrier}: ${entry.outcome.replaceAll("_", " ")}`;
    case "doubt":
      return `${entry.at}    segment ${entry.segment} in doubt: ${entry.reason} Next: ${entry.action}.`;
    case "receipt":
      return `${entry.at}    receipt for segment ${entry.segment} from ${entry.carrier}: ${entry.state}`;
    case "status":
      return `${entry.at}  ${entry.status}`;
  }
}
