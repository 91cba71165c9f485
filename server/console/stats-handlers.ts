import { type AccountRow, browseKeys, countKeys, findAccount } from "#accounts";
import { type Alert, EXPIRES_SOON_DAYS } from "#contract";
import { browseMessages, NO_MESSAGE_FILTER } from "#messages";
import { type Clock, type Database, DAY_MS, readBound } from "#platform";
import { listCarriers, readCarrierStates } from "#sending";
import { countWaiting, hasTried, listFailingHosts } from "#webhooks";
import type { ConsoleHandlers, Person } from "./console-call.ts";
import { readRate } from "./credit-handlers.ts";
import { fieldProblem } from "./field-problems.ts";
import { browseInvitations } from "./links.ts";
import { countMembers } from "./members.ts";
import { percentileMs } from "./stats/percentile.ts";
import { type Span, spanBefore, spanOf } from "./stats/span.ts";
import {
  readErrors,
  readFirsts,
  readLatencies,
  readSums,
  readUse,
  type Sums,
} from "./stats/sums.ts";

type Deps = { db: Database; clock: Clock };
type Asked = Omit<Parameters<typeof spanOf>[0], "from" | "to"> & { from?: string; to?: string };

/** Numbers of the overview, all from sums that are kept up to date in advance. */
export function statsHandlers(deps: Deps) {
  const { db, clock } = deps;
  return {
    async readSummary({ account: { accountId }, query, person, problem }) {
      const now = clock.now();
      const span = readSpan(query, now);
      const account = await findAccount(db, accountId);
      if (!account) throw problem("ACCOUNT_NOT_FOUND");
      const [current, before, { daysLeft }, alerts] = await Promise.all([
        numbersOf(db, accountId, span),
        numbersOf(db, accountId, spanBefore(span, now)),
        readRate(db, account, now),
        findAlerts(deps, { account, person, now }),
      ]);
      const { balance } = account;
      return { span: presentSpan(span), now: current, before, balance, daysLeft, alerts };
    },

    async readStatuses({ account: { accountId }, query }) {
      const span = readSpan(query, clock.now());
      const sums = await readSums(db, accountId, span);
      const entries = sums.map(({ queued, sent, delivered, undelivered, failed }) => ({
        QUEUED: queued,
        SENT: sent,
        DELIVERED: delivered,
        UNDELIVERED: undelivered,
        FAILED: failed,
      }));
      return { span: presentSpan(span), buckets: bucketsOf(span, entries) };
    },

    async readLatency({ account: { accountId }, query }) {
      const span = readSpan(query, clock.now());
      const byBucket = Map.groupBy(await readLatencies(db, accountId, span), ({ n }) => n);
      const entries = span.starts.map((_start, position) => {
        const histogram = byBucket.get(position + 1) ?? [];
        const count = histogram.reduce((sum, each) => sum + each.count, 0);
        return { count, p50Ms: percentileMs(histogram, 0.5), p95Ms: percentileMs(histogram, 0.95) };
      });
      return { span: presentSpan(span), buckets: bucketsOf(span, entries) };
    },

    async readCreditsUse({ account: { accountId }, query }) {
      const span = readSpan(query, clock.now());
      const sums = await readSums(db, accountId, span);
      const entries = sums.map(({ charged, refunded }) => ({ charged, refunded }));
      return { span: presentSpan(span), buckets: bucketsOf(span, entries) };
    },

    async readErrors({ account: { accountId }, query }) {
      const span = readSpan(query, clock.now());
      return { span: presentSpan(span), data: await readErrors(db, accountId, span) };
    },

    async readWebhookHealth({ account: { accountId }, query }) {
      const span = readSpan(query, clock.now());
      const [sums, waiting] = await Promise.all([
        readSums(db, accountId, span),
        countWaiting(db, accountId),
      ]);
      const total = (pick: (each: Sums) => number) =>
        sums.reduce((sum, each) => sum + pick(each), 0);
      return {
        span: presentSpan(span),
        delivered: total((each) => each.webhooks_delivered),
        exhausted: total((each) => each.webhooks_exhausted),
        failedAttempts: total((each) => each.webhooks_failed),
        ...waiting,
      };
    },

    async readProgress({ account: { accountId } }) {
      const now = clock.now();
      const [keys, messages, firsts, tried, members, invitations] = await Promise.all([
        countKeys(db, { accountId, now }),
        browseMessages(db, { accountId, filter: NO_MESSAGE_FILTER, position: null, limit: 1 }),
        readFirsts(db, accountId),
        hasTried(db, accountId),
        countMembers(db, accountId),
        browseInvitations(db, { accountId, now, position: null, limit: 1 }),
      ]);
      return {
        hasKey: keys.total > 0,
        hasMessage: messages.rows.length > 0,
        hasDelivered: firsts.message,
        hasWebhook: firsts.webhook || tried,
        hasInvited: members.totalCount > 1 || invitations.rows.length > 0,
      };
    },
  } satisfies Partial<ConsoleHandlers>;
}

function readSpan(asked: Asked, now: Date): Span {
  const span = spanOf({ ...asked, from: readBound(asked.from), to: readBound(asked.to) }, now);
  if ("wrong" in span) throw fieldProblem(span.wrong.field, span.wrong.message);
  return span;
}

function presentSpan({ from, to, zone, bucket }: Span) {
  return { from: from.toISOString(), to: to.toISOString(), zone, bucket };
}

function bucketsOf<Entry>({ starts, to }: Span, entries: Entry[]) {
  return starts.map((start, position) => ({
    start: start.toISOString(),
    end: (starts[position + 1] ?? to).toISOString(),
    ...(entries[position] as Entry),
  }));
}

async function numbersOf(db: Database, accountId: string, span: Span) {
  const [sums, histogram] = await Promise.all([
    readSums(db, accountId, span),
    readLatencies(db, accountId, { ...span, starts: [span.from] }),
  ]);
  const total = (pick: (each: Sums) => number) => sums.reduce((sum, each) => sum + pick(each), 0);
  const delivered = total((each) => each.delivered);
  const final = delivered + total(({ undelivered, failed }) => undelivered + failed);
  return {
    messages: final + total(({ queued, sent }) => queued + sent),
    delivered,
    final,
    p50Ms: percentileMs(histogram, 0.5),
    p95Ms: percentileMs(histogram, 0.95),
    creditsUsed: total(({ charged, refunded }) => charged - refunded),
  };
}

const MAX_KEY_ALERTS = 50;

/** What needs attention now, the most harmful first. */
async function findAlerts(
  { db }: Deps,
  { account, person, now }: { account: AccountRow; person: Person; now: Date },
): Promise<Alert[]> {
  const { account_id: accountId, balance, low_credits: lowCredits } = account;
  const yesterday = new Date(now.getTime() - DAY_MS);
  const [keys, { exhausted }, receivers, carriers] = await Promise.all([
    browseKeys(db, {
      accountId,
      states: ["expires_soon"],
      position: null,
      limit: MAX_KEY_ALERTS,
      now,
      soonDays: EXPIRES_SOON_DAYS,
    }),
    readUse(db, accountId, yesterday),
    listFailingHosts(db, accountId),
    person.isOperator ? carriersDown(db) : [],
  ]);
  const none = { subject: null, subjectId: null, count: null, at: null };
  const alerts: Alert[] = [];
  if (balance === 0) alerts.push({ ...none, kind: "credits_gone" });
  for (const { carrier_id, name } of carriers)
    alerts.push({ ...none, kind: "carrier_down", subject: name, subjectId: carrier_id });
  for (const { origin } of receivers)
    alerts.push({ ...none, kind: "receiver_failing", subject: origin, subjectId: origin });
  if (exhausted > 0) alerts.push({ ...none, kind: "deliveries_exhausted", count: exhausted });
  if (balance > 0 && balance <= lowCredits)
    alerts.push({ ...none, kind: "credits_low", count: balance });
  for (const { key_id, name, expires_at } of keys.rows)
    alerts.push({
      ...none,
      kind: "key_expiring",
      subject: name,
      subjectId: key_id,
      at: expires_at?.toISOString() ?? null,
    });
  return alerts;
}

async function carriersDown(db: Database) {
  const carriers = await listCarriers(db);
  const states = await readCarrierStates(db, carriers);
  return carriers.filter(({ carrier_id }) => states.get(carrier_id)?.state === "down");
}
