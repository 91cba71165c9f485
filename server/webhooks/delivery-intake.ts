import type { BornDelivery, WebhookIntake } from "#messages";
import {
  type Clock,
  type Database,
  type DatabaseUnavailable,
  localMoment,
  type Log,
  type SecretBox,
} from "#platform";
import type { Ahead } from "./ahead.ts";
import { type Claim, type ClaimedDelivery, readSecrets } from "./deliveries.ts";
import type { DeliveryRunner } from "./delivery-runner.ts";
import { idsOf } from "./record-attempts.ts";

type Deps = {
  db: Database;
  clock: Clock;
  log: Log;
  secrets: SecretBox;
  ahead: Ahead;
  runner: DeliveryRunner;
  /** Whether something older waits for a claim in this lane and must go first. */
  isBehind: (hostKey: bigint) => boolean;
};

export type DeliveryIntake = Omit<WebhookIntake, "wake"> & {
  /** Reserves no more places; resolves when everything taken has been handed on. */
  stop(): Promise<void>;
};

const UNSIGNED_WAIT_MS = 5_000;

/** Retries later what cannot be signed, by our own fault or because the database is away. */
export function putBackUnsigned(
  { log, runner }: Pick<Deps, "log" | "runner">,
  claims: readonly Claim[],
  away: DatabaseUnavailable | undefined,
): void {
  if (claims.length === 0) return;
  if (away)
    log.warn(
      { error: away, webhooks: claims.length },
      "webhooks wait for the database to be signed",
    );
  for (const claim of claims) {
    if (!away)
      log.error(idsOf(claim), "a webhook cannot be signed: its account's secret cannot be opened");
    runner.putBack(claim, UNSIGNED_WAIT_MS);
  }
}

/**
 * Passes webhooks that were leased to this node at birth from the commit to the runner. Takes only
 * lanes that answer fast, and no more than can begin soon; all others are claimed.
 */
export function deliveryIntake(deps: Deps): DeliveryIntake {
  const { db, clock, log, secrets, ahead, runner, isBehind } = deps;
  const underWay = new Set<Promise<void>>();
  let isStopping = false;

  const leave = (hostKey: bigint) => ahead.add(hostKey, -1);

  async function handOn(born: readonly BornDelivery[]): Promise<void> {
    // Read for these and never kept: a removed secret signs nothing more.
    const accountIds = born.map(({ accountId }) => accountId);
    const { found, away } = await readSecrets(db, accountIds, secrets);
    const claims = born.map(claimOf);
    for (const claim of claims) {
      const own = found.get(claim.accountId);
      if (own) runner.offerFirst({ ...claim, secrets: own });
    }
    const unsigned = claims.filter(({ accountId }) => !found.has(accountId));
    putBackUnsigned(deps, unsigned, away);
  }

  return {
    reserve(hostKey) {
      if (isStopping || !ahead.hasRoom(hostKey) || isBehind(hostKey)) return null;
      ahead.add(hostKey, 1);
      return localMoment(clock);
    },
    release: (hostKeys) => hostKeys.forEach(leave),
    take(born) {
      const handing = handOn(born)
        .catch((error: unknown) =>
          log.error({ error }, "webhooks were not handed on; their leases bring them back"),
        )
        .finally(() => {
          born.forEach(({ hostKey }) => leave(hostKey));
          underWay.delete(handing);
        });
      underWay.add(handing);
    },
    async stop() {
      isStopping = true;
      await Promise.all(underWay);
    },
  };
}

function claimOf(born: BornDelivery): Omit<ClaimedDelivery, "secrets"> {
  const { messageId, sequence, accountId, hostKey, status, url, body } = born;
  return {
    messageId,
    sequence,
    accountId,
    hostKey,
    replayId: null,
    // The values with which the row was written.
    attempt: 1,
    step: 0,
    epoch: 1,
    createdAt: born.leasedAt,
    claimedAt: born.leasedAt,
    claimedHere: born.leasedHere,
    status,
    eventAt: born.at,
    url,
    body,
  };
}
