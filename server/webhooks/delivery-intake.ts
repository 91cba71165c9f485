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
  /** Whether something waits for a claim in this lane: it is older, so it goes first. */
  isBehind: (hostKey: bigint) => boolean;
};

export type DeliveryIntake = Omit<WebhookIntake, "wake"> & {
  /** Keeps no more places, and resolves when all that came has been handed on. */
  stop(): Promise<void>;
};

const UNSIGNED_WAIT_MS = 5_000;

/** What cannot be signed is tried again after a while: by a fault of ours, or because the database is away. */
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
 * Webhooks that were leased to this node at birth, on their way from the commit to the runner. Only
 * for lanes where answers come fast, and no more than can begin soon; all others are claimed.
 */
export function deliveryIntake(deps: Deps): DeliveryIntake {
  const { db, clock, log, secrets, ahead, runner, isBehind } = deps;
  const underWay = new Set<Promise<void>>();
  let isStopping = false;

  const leave = (hostKey: bigint) => ahead.add(hostKey, -1);

  async function handOn(born: readonly BornDelivery[]): Promise<void> {
    // Read for these, and never kept: a secret that was dropped signs nothing more.
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
    // As the row was written.
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
