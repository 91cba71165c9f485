import { Problem } from "#http";
import {
  DEFAULT_PRICE,
  judgeRecipient,
  listPrices,
  listRoutes,
  lockRouting,
  longestPrefix,
  removePrice,
  removeRoute,
  routingVersion,
  setPrice,
  setRoute,
} from "#messages";
import { type Clock, type Database, type Queryable, within } from "#platform";
import { findCarrierNames, listCarriers } from "#sending";
import type { ConsoleHandlers } from "./console-call.ts";
import { fieldProblem, refuseFields } from "./field-problems.ts";

type Deps = { db: Database; clock: Clock };

/** Routes and prices; every node applies a change from its next request on. */
export function routingHandlers({ db, clock }: Deps) {
  /** Makes the change only if the tables still have the version it was made from. */
  const change = (version: number | undefined, work: (tx: Database) => Promise<unknown>) =>
    db.transaction(async (tx) => {
      const current = await lockRouting(tx);
      if (version !== undefined && version !== current) throw new Problem("VERSION_CONFLICT");
      if ((await work(within(tx))) === false) throw new Problem("PREFIX_NOT_FOUND");
    });
  return {
    listRoutes: () => presentRoutes(db),

    async setRoute({ body: { prefix, carrierIds: named, version }, actor }) {
      const by = { actor, now: clock.now() };
      const carrierIds = named.map((id) => id.toLowerCase());
      await change(version, async (tx) => {
        await refuseCarriers(tx, carrierIds);
        await setRoute(tx, { prefix, carrierIds }, by);
      });
      return presentRoutes(db);
    },

    async removeRoute({ query: { prefix, version }, actor }) {
      await change(version, (tx) => removeRoute(tx, prefix, { actor, now: clock.now() }));
      return presentRoutes(db);
    },

    async findRoute({ query }) {
      const recipient = recipientOf(query.recipient);
      const route = bestOf(await listRoutes(db), recipient);
      const carrierIds = route?.carrierIds ?? [];
      const names = await findCarrierNames(db, carrierIds);
      const carriers = carrierIds.map((carrierId) => presentCarrier(carrierId, names));
      return { recipient, prefix: route?.prefix ?? null, carriers };
    },

    listPrices: () => presentPrices(db),

    async setPrice({ body: { prefix, credits, version }, actor }) {
      const by = { actor, now: clock.now() };
      await change(version, (tx) => setPrice(tx, { prefix, credits }, by));
      return presentPrices(db);
    },

    async removePrice({ query: { prefix, version }, actor }) {
      await change(version, (tx) => removePrice(tx, prefix, { actor, now: clock.now() }));
      return presentPrices(db);
    },

    async findPrice({ query }) {
      const recipient = recipientOf(query.recipient);
      const price = bestOf(await listPrices(db), recipient);
      return {
        recipient,
        prefix: price?.prefix ?? null,
        credits: price?.credits ?? DEFAULT_PRICE,
      };
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Judged as for a send, so that the result matches a real send; bare digits are accepted too. */
function recipientOf(text: string): string {
  const judged = judgeRecipient(text);
  if (judged.outcome === "valid") return judged.recipient;
  const digits = /^\+?(\d{1,15})$/.exec(text.trim())?.[1];
  if (digits === undefined) throw fieldProblem("recipient", judged.message);
  return digits;
}

function bestOf<Entry extends { prefix: string }>(entries: Entry[], recipient: string) {
  return longestPrefix(Object.fromEntries(entries.map((entry) => [entry.prefix, entry])))(
    recipient,
  );
}

/** Refuses carriers that are unknown, removed or named twice. */
async function refuseCarriers(tx: Queryable, carrierIds: readonly string[]): Promise<void> {
  const known = new Set((await listCarriers(tx)).map(({ carrier_id }) => carrier_id));
  const unknown = carrierIds.filter((id) => !known.has(id));
  const isDoubled = new Set(carrierIds).size !== carrierIds.length;
  refuseFields({
    carrierIds: [
      ...unknown.map((id) => `There is no carrier ${id.slice(0, 40)}.`),
      ...(isDoubled ? ["Name each carrier once."] : []),
    ],
  });
}

/**
 * Reads the version first, here and below: a change made meanwhile is either included, or turns the
 * next change that names this version into a conflict.
 */
async function presentRoutes(db: Queryable) {
  const version = await routingVersion(db);
  const routes = await listRoutes(db);
  const names = await findCarrierNames(db, [
    ...new Set(routes.flatMap(({ carrierIds }) => carrierIds)),
  ]);
  const data = routes.map(({ prefix, carrierIds }) => ({
    prefix,
    carriers: carrierIds.map((carrierId) => presentCarrier(carrierId, names)),
  }));
  return { data, version };
}

async function presentPrices(db: Queryable) {
  const version = await routingVersion(db);
  return { data: await listPrices(db), version };
}

function presentCarrier(carrierId: string, names: ReadonlyMap<string, { name: string }>) {
  return { carrierId, name: names.get(carrierId)?.name ?? "unknown" };
}
