import { type Actor, findSigningSecrets, recordAudit, signingNow } from "#accounts";
import type { ToldStatus } from "#contract";
import { eventNames } from "#contract/words";
import { changeTo, eventBody, eventId, hostKeyOf, newMessageId } from "#messages";
import { type Clock, type Database, type SecretBox, sql, type Transaction } from "#platform";
import { judgeUrl, type Refusal } from "./egress/judge-url.ts";
import type { EgressPolicy } from "./egress/policy.ts";
import { webhookHeaders } from "./headers.ts";
import type { Lanes } from "./lanes.ts";
import { isSuccess } from "./outcome.ts";
import type { Attempt, Poster } from "./post.ts";
import { noteTried } from "./tried.ts";

type Deps = {
  db: Database;
  clock: Clock;
  secrets: SecretBox;
  /** Applies the same guard, limits and connections as for deliveries. */
  poster: Pick<Poster, "post">;
  policy: EgressPolicy;
  version: string;
  /** This node's lanes, if it delivers. The host was asked about, so it is tried again at once. */
  lanes?: Lanes | undefined;
};

export type TestRequest = {
  accountId: string;
  url: string;
  status: ToldStatus;
  actor: Actor;
};

export type TestedEvent =
  | { outcome: "refused"; refusal: Refusal }
  | { outcome: "rate_limited"; retryAfterSeconds: number }
  | { outcome: "account_unknown" }
  | {
      outcome: "sent";
      isDelivered: boolean;
      deliveryId: string;
      at: Date;
      body: Buffer;
      headers: Record<string, string>;
      attempt: Attempt;
    };

/** Per account; all may be used at once. */
const TESTS_A_MINUTE = 10;
/** A number reserved for fiction. */
const RECIPIENT = "447700900123";

/** Posts one signed event without a message and returns the result. Keeps only the audit row. */
export async function sendTestEvent(deps: Deps, request: TestRequest): Promise<TestedEvent> {
  const { clock, db, poster, policy, lanes, version } = deps;
  const { accountId, url, status } = request;
  const verdict = judgeUrl(url, policy);
  if (!verdict.allowed) return { outcome: "refused", refusal: verdict };
  const now = clock.now();
  const permitted = await db.transaction((tx) => permit(tx, { ...deps, ...request, now }));
  if (permitted.outcome !== "permitted") return permitted;

  const { at } = permitted;
  const messageId = newMessageId(at.getTime());
  const sequence = status === "SENT" || status === "FAILED" ? 2 : 3;
  const deliveryId = eventId(messageId, sequence);
  const code = status === "FAILED" ? "REJECTED_BY_CARRIER" : "RECIPIENT_UNREACHABLE";
  const error = { code, carrierCode: null } as const;
  const body = eventBody(changeTo(status, { messageId, recipient: RECIPIENT, at, error }));
  const headers = webhookHeaders(
    {
      eventId: deliveryId,
      timestampSeconds: Math.floor(at.getTime() / 1000),
      body,
      secrets: permitted.secrets,
      event: eventNames[status],
      attempt: 1,
      sequence,
      isTest: true,
    },
    version,
  );
  const hostKey = hostKeyOf(accountId, url);
  lanes?.probe(hostKey);
  const attempt = await poster.post({ hostKey, url, headers, body });
  const { outcome, timings } = attempt;
  const isDelivered = isSuccess(outcome);
  const place = { accountId, hostname: verdict.hostname, origin: verdict.origin };
  if (isDelivered) {
    lanes?.answered({ hostKey, place, outcome, durationMs: timings.totalMs });
    // This only ticks a box: its failure is no reason to hide the receiver's answer.
    await noteTried(db, accountId).catch(() => undefined);
  }
  return { outcome: "sent", isDelivered, deliveryId, at, body, headers, attempt };
}

type Permit =
  /** `at` is by the database's clock: nodes may disagree about the time. */
  | { outcome: "permitted"; secrets: string[]; at: Date }
  | { outcome: "rate_limited"; retryAfterSeconds: number }
  | { outcome: "account_unknown" };

async function permit(
  tx: Transaction,
  { accountId, url, status, actor, now, secrets }: TestRequest & { now: Date; secrets: SecretBox },
): Promise<Permit> {
  const found = (await findSigningSecrets(tx, { accountIds: [accountId], secrets })).get(accountId);
  if (!found) return { outcome: "account_unknown" };
  const { waitSeconds, at } = await takeAllowance(tx, accountId);
  if (waitSeconds > 0)
    return { outcome: "rate_limited", retryAfterSeconds: Math.ceil(waitSeconds) };
  const details = { origin: URL.parse(url)?.origin ?? null, event: eventNames[status] };
  await recordAudit(tx, "webhook.tested", { actor, now, accountId, objectId: accountId, details });
  return { outcome: "permitted", secrets: signingNow(found, at), at };
}

/** Takes one of the account's tests; returns the seconds to wait if none is left. */
async function takeAllowance(
  tx: Transaction,
  accountId: string,
): Promise<{ waitSeconds: number; at: Date }> {
  const perSecond = TESTS_A_MINUTE / 60;
  await tx.query(sql`
    insert into webhook_test_allowances (account_id, tokens, at)
    values (${accountId}, ${TESTS_A_MINUTE}, clock_timestamp())
        on conflict (account_id) do nothing`);
  const [taken] = await tx.query<{ tokens: number; at: Date }>(sql`
    update webhook_test_allowances a
       set tokens = case when n.tokens >= 1 then n.tokens - 1 else n.tokens end, at = n.at
      from (select l.account_id, clock_timestamp() as at,
                   least(${TESTS_A_MINUTE}::float8,
                         l.tokens + ${perSecond}::float8 * greatest(0, extract(epoch from clock_timestamp() - l.at))) as tokens
              from (select account_id, tokens, at from webhook_test_allowances
                     where account_id = ${accountId} for update) l) n
     where a.account_id = n.account_id
    returning n.tokens, n.at`);
  if (!taken) throw new Error(`The test events of account ${accountId} are not counted.`);
  const { tokens, at } = taken;
  return { waitSeconds: tokens >= 1 ? 0 : (1 - tokens) / perSecond, at };
}
