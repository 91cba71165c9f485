import type { ConsoleOperations, MemberRole, QueryOf, ToldEvent, ToldStatus } from "#contract";
import { type Pager, Problem } from "#http";
import { isIdempotencyKey } from "#messages";
import { chosen, type Clock, type Database, readBound } from "#platform";
import {
  browseDeliveries,
  cancelReplay,
  countExhausted,
  countSelected,
  type DeliveryFilter,
  type DeliveryRow,
  findDelivery,
  findReplay,
  listHosts,
  replayDelivery,
  type ReplayProgress,
  replaySelected,
  sendTestEvent,
  startBulkReplay,
} from "#webhooks";
import type { ConsoleHandlers } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { presentAttempt, presentDelivery, presentTest } from "./present-delivery.ts";

export type WebhookDeps = {
  db: Database;
  clock: Clock;
  pager: Pager;
  version: string;
  /** What test events are posted with: the guard, limits and connections of real deliveries. */
  delivering: Omit<Parameters<typeof sendTestEvent>[0], "db">;
};

/** Webhook deliveries: what was sent and answered, sending again, and trying an address. */
export function webhookHandlers(deps: WebhookDeps) {
  const { db, clock, pager, version } = deps;
  const present = (row: DeliveryRow, role: MemberRole) =>
    presentDelivery(row, { role, now: clock.now() });
  return {
    async listDeliveries({ account: { accountId, role }, query }) {
      const filter = filterOf(query);
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["deliveries", accountId, filter],
        browse: (page) => browseDeliveries(db, { accountId, filter, ...page }),
        idOf: (row) => row.deliveryId,
      });
      return { data: rows.map((row) => present(row, role)), ...cursors };
    },

    async readDelivery({ account: { accountId, role }, params: { deliveryId }, problem }) {
      const found = await findDelivery(db, { accountId, deliveryId });
      if (!found) throw problem("DELIVERY_NOT_FOUND");
      return {
        ...present(found, role),
        // Both contain the full recipient; the response may repeat what it received.
        body: role === "viewer" ? null : found.body.toString(),
        exchanges: found.tried.map((row) => presentAttempt(found, row, { role, version })),
      };
    },

    async replayDelivery({
      account: { accountId, role },
      params: { deliveryId },
      actor,
      idempotencyKey,
      problem,
    }) {
      const key = keyOf(idempotencyKey);
      const wish = { accountId, deliveryId, actor, now: clock.now(), ...key };
      const replayed = await replayDelivery(db, wish);
      if (replayed.outcome === "not_found") throw problem("DELIVERY_NOT_FOUND");
      if (replayed.outcome === "too_old") throw problem("DELIVERY_NOT_REPLAYABLE");
      if (replayed.outcome === "in_flight") throw problem("DELIVERY_IN_FLIGHT");
      const found = await findDelivery(db, { accountId, deliveryId });
      if (!found) throw problem("DELIVERY_NOT_FOUND");
      return present(found, role);
    },

    async startReplay({ account: { accountId }, body, actor, idempotencyKey }) {
      const now = clock.now();
      const { exhaustedSince, dryRun = false } = body;
      const deliveryIds = body.deliveryIds?.map((id) => id.toLowerCase());
      const since = readBound(exhaustedSince);
      const isOneGiven = (deliveryIds === undefined) !== (exhaustedSince === undefined);
      refuseFields({
        deliveryIds: isOneGiven ? [] : ["Give deliveryIds or exhaustedSince: one of the two."],
      });
      if (dryRun) {
        const total =
          since === null
            ? await countSelected(db, { accountId, deliveryIds: deliveryIds ?? [], now })
            : await countExhausted(db, { accountId, since });
        return { ...NO_REPLAY, state: "counted", total };
      }
      const by = { accountId, actor, now, ...keyOf(idempotencyKey) };
      const { replayId } =
        since === null
          ? await replaySelected(db, { ...by, deliveryIds: deliveryIds ?? [] })
          : await startBulkReplay(db, { ...by, since });
      return requireReplay(db, { accountId, replayId });
    },

    readReplay: ({ account: { accountId }, params: { replayId } }) =>
      requireReplay(db, { accountId, replayId }),

    async cancelReplay({ account: { accountId }, params: { replayId }, actor, problem }) {
      const isKnown = await cancelReplay(db, { accountId, replayId, actor, now: clock.now() });
      if (!isKnown) throw problem("REPLAY_NOT_FOUND");
      return requireReplay(db, { accountId, replayId });
    },

    async listWebhookHosts({ account: { accountId } }) {
      const rows = await listHosts(db, accountId);
      const data = rows.map((row) => ({
        host: row.origin,
        health: row.health,
        succeeded: row.ok,
        failed: row.failed,
        p95Ms: row.p95_ms === null ? null : Math.round(row.p95_ms),
        waiting: row.waiting,
        isMore: row.is_more,
        lastSuccessAt: row.last_ok_at?.toISOString() ?? null,
      }));
      return { data };
    },

    async sendTestEvent({
      account: { accountId },
      body: { url, event = "message.delivered" },
      actor,
    }) {
      const tested = await sendTestEvent(
        { db, ...deps.delivering },
        { accountId, url, status: STATUS_OF[event], actor },
      );
      return presentTest(tested);
    },
  } satisfies Partial<ConsoleHandlers>;
}

const NO_REPLAY = { replayId: null, waiting: 0, delivered: 0, failed: 0, createdAt: null };

function filterOf(asked: QueryOf<ConsoleOperations["listDeliveries"]>): DeliveryFilter {
  const { state, event, host = null, messageId = null, httpStatus = null } = asked;
  return {
    states: chosen(state),
    events: chosen(event),
    host,
    messageId,
    httpStatus,
    createdAfter: readBound(asked.createdAfter),
    createdBefore: readBound(asked.createdBefore),
  };
}

function keyOf(idempotencyKey: string | undefined): { idempotencyKey?: string } {
  if (idempotencyKey === undefined) return {};
  if (!isIdempotencyKey(idempotencyKey)) throw new Problem("IDEMPOTENCY_KEY_INVALID");
  return { idempotencyKey };
}

async function requireReplay(db: Database, asked: { accountId: string; replayId: string }) {
  const progress: ReplayProgress | undefined = await findReplay(db, asked);
  if (!progress) throw new Problem("REPLAY_NOT_FOUND");
  return { ...progress, createdAt: progress.createdAt.toISOString() };
}

const STATUS_OF = {
  "message.sent": "SENT",
  "message.delivered": "DELIVERED",
  "message.undelivered": "UNDELIVERED",
  "message.failed": "FAILED",
} as const satisfies Record<ToldEvent, ToldStatus>;
