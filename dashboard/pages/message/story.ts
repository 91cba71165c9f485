import type { ConsoleMessage, HistoryEntry, WebhookDelivery } from "#contract";
import { nowMs } from "../../clock.ts";
import { countOf, formatTime, isSameDay, type Zone } from "../../format.ts";
import { codeInWords, isNoError } from "../../text/carrier-codes.ts";
import { messageText, timelineText as text } from "../../text/message.ts";
import { webhooksText } from "../../text/webhooks.ts";

export type Tone = "plain" | "good" | "undelivered" | "bad" | "doubt" | "quiet";

/** One event of a message, as the timeline shows it. */
export type Step = {
  key: string;
  at: string;
  /** Time since the step before; undefined for the first. */
  sinceMs: number | undefined;
  tone: Tone;
  title: string;
  lines: string[];
  /** The webhook about this step's status. */
  webhook?: ToldWebhook;
};

export type ToldWebhook = Webhook & { title: string };
type Webhook = NonNullable<Entry<"status">["webhook"]>;
type Told = Pick<Step, "tone" | "title" | "lines" | "webhook">;
type About = { segments: number; credits: number; creditsRefunded: number };

/** The history in the timeline's words, oldest first, with the time between steps. */
export function tellStory(history: readonly HistoryEntry[], about: About): Step[] {
  return history.map((entry, index) => {
    const before = history[index - 1];
    return {
      key: `${index} ${entry.type} ${entry.at}`,
      at: entry.at,
      sinceMs: before && Date.parse(entry.at) - Date.parse(before.at),
      ...tell(entry, about),
    };
  });
}

/** Whether a step shows its day: the first does, and each on another day than its predecessor. */
export function tellsDay(steps: readonly Pick<Step, "at">[], index: number, zone: Zone): boolean {
  const [before, step] = [steps[index - 1], steps[index]];
  return !before || !step || !isSameDay(before.at, step.at, zone);
}

type Waiting = Pick<ConsoleMessage, "waitsFor"> & {
  message: Pick<ConsoleMessage["message"], "status" | "sendAt">;
};

/** What a QUEUED message waits for. */
export function tellWait(
  { message: { status, sendAt }, waitsFor }: Waiting,
  zone: Zone,
): string | undefined {
  const { dueAt, waitingFor, waitingForWorker, carrierAway } = messageText;
  if (status !== "QUEUED") return undefined;
  if (sendAt !== null && Date.parse(sendAt) > nowMs()) return dueAt(formatTime(sendAt, zone));
  if (waitsFor === null) return waitingForWorker;
  const { carrier, away } = waitsFor;
  return away === null ? waitingFor(carrier) : carrierAway[away](carrier);
}

function tell(entry: HistoryEntry, about: About): Told {
  switch (entry.type) {
    case "status":
      return {
        ...tellStatus(entry, about),
        lines: linesOfStatus(entry),
        ...(entry.webhook && { webhook: tellWebhook(entry.webhook, entry.event) }),
      };
    case "submission":
      return tellSubmission(entry, about);
    case "doubt":
      return {
        tone: "doubt",
        title: text.doubt(segmentName(entry.segment, about), entry.carrier),
        lines: [entry.reason, entry.action === "resend" ? text.resent : text.failedInDoubt],
      };
    case "receipt":
      return {
        tone: entry.applied ? "plain" : "quiet",
        title: receiptTitle(entry, about),
        lines: [...codeLine(entry.carrierCode), ...(entry.applied ? [] : [text.keptOnly])],
      };
  }
}

type Entry<Type extends HistoryEntry["type"]> = Extract<HistoryEntry, { type: Type }>;

function tellStatus({ status }: Entry<"status">, about: About): Omit<Told, "lines"> {
  switch (status) {
    case "QUEUED":
      return { tone: "plain", title: text.accepted(countOf(about.credits, "credit")) };
    case "SENT":
      return { tone: "plain", title: text.becameSent };
    case "DELIVERED":
      return { tone: "good", title: text.becameDelivered };
    case "UNDELIVERED":
      return { tone: "undelivered", title: text.becameUndelivered };
    case "FAILED": {
      const refunded = countOf(about.creditsRefunded, "credit");
      return { tone: "bad", title: text.becameFailed(refunded) };
    }
  }
}

function linesOfStatus({ error }: Entry<"status">): string[] {
  const lines: string[] = [];
  if (error) lines.push(`${error.code}: ${error.message}`);
  lines.push(...codeLine(error?.carrierCode ?? null));
  return lines;
}

function tellWebhook(webhook: Webhook, event: string): ToldWebhook {
  const attempts = countOf(webhook.attempts.length, "attempt");
  const title = text.webhook(event, webhooksText.states[stateOf(webhook)], attempts);
  return { ...webhook, title };
}

/** As on the webhooks page, which tells first attempts from later ones. */
function stateOf({ state, attempts }: Webhook): WebhookDelivery["state"] {
  if (state !== "pending") return state;
  return attempts.length === 0 ? "waiting" : "retrying";
}

function tellSubmission(entry: Entry<"submission">, about: About): Told {
  const segment = segmentName(entry.segment, about);
  const code = codeLine(entry.carrierCode);
  switch (entry.outcome) {
    case "accepted":
      return {
        tone: "plain",
        title:
          about.segments === 1
            ? text.submitted(entry.carrier)
            : capital(text.submittedPart(segment, entry.carrier)),
        lines: entry.carrierMessageId ? [text.carrierId(entry.carrierMessageId)] : [],
      };
    case "refused_temporarily":
      return { tone: "doubt", title: text.refusedForNow(segment, entry.carrier), lines: code };
    case "refused":
      return { tone: "bad", title: text.refused(segment, entry.carrier), lines: code };
    case "unsent":
      return { tone: "quiet", title: capital(text.unsent(segment, entry.carrier)), lines: code };
  }
}

function receiptTitle({ state, carrier, segment }: Entry<"receipt">, about: About): string {
  if (about.segments === 1) return text.receipt(state, carrier);
  return text.receiptOfPart(state, carrier, segmentName(segment, about));
}

function codeLine(code: string | null): string[] {
  return code === null || isNoError(code) ? [] : [text.carrierCode(codeInWords(code))];
}

function segmentName(segment: number, { segments }: About): string {
  return segments === 1 ? text.theMessage : text.segmentOf(segment, segments);
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
