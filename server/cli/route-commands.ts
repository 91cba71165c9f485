import {
  listRoutes,
  lockRouting,
  longestPrefix,
  removeRoute,
  type Route,
  setRoute,
} from "#messages";
import { nearest, within } from "#platform";
import { type CarrierRow, listCarriers, onlyReceives } from "#sending";
import { ACTOR, command, CommandFailure, type Context } from "./command.ts";
import { several } from "./input.ts";
import { text } from "./input-values.ts";
import { prefixArgument, shownPrefix } from "./prefixes.ts";
import { facts, table } from "./table.ts";

const set = command({
  name: "route set",
  summary:
    "Sets the carriers for numbers with a prefix, in order of preference; the longest prefix wins.",
  arguments: {
    prefix: prefixArgument,
    carriers: several("CARRIER", text, "Names of carriers; see carrier list."),
  },
  prints: '{"prefix","carriers"}',
  examples: ["route set 49 acme simulator", 'route set "" acme'],
  async run({ prefix, carriers: names }, context) {
    const { db } = await context.installation();
    const carriers = [...new Set(names)];
    const change = { actor: ACTOR, now: context.clock.now() };
    const meant = await db.transaction(async (tx) => {
      // Lock first, so that no carrier is removed between this check and setting the route.
      await lockRouting(tx);
      const known = await listCarriers(tx);
      const found = carriers.map((name) => requireCarrier(known, name));
      const carrierIds = found.map(({ carrier_id }) => carrier_id);
      await setRoute(within(tx), { prefix, carrierIds }, change);
      return found;
    });
    for (const { name } of meant.filter(onlyReceives))
      context.terminal.say(`${name} only receives: this route's messages need another carrier.`);
    return { json: { prefix, carriers }, text: facts({ prefix: shownPrefix(prefix), carriers }) };
  },
});

export function requireCarrier(known: readonly CarrierRow[], name: string): CarrierRow {
  const carrier = known.find((each) => each.name === name);
  if (carrier) return carrier;
  const names = known.map((each) => each.name);
  const near = nearest(name, names);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new CommandFailure(
    `There is no carrier ${name}.${hint} List them with: npx posthorn carrier list`,
  );
}

const remove = command({
  name: "route remove",
  summary: "Removes a prefix's route; the next shorter prefix then applies, if there is one.",
  arguments: { prefix: prefixArgument },
  prints: '{"prefix"}',
  examples: ["route remove 49"],
  async run({ prefix }, context) {
    const { db } = await context.installation();
    const isGone = await removeRoute(db, prefix, { actor: ACTOR, now: context.clock.now() });
    if (!isGone) {
      throw new CommandFailure(
        `No route is set for ${shownPrefix(prefix)}. List them with: npx posthorn route list`,
      );
    }
    await sayWhoServes(context, [prefix]);
    return { json: { prefix }, text: facts({ removed: shownPrefix(prefix) }) };
  },
});

/** Says who serves the numbers of removed routes, so that clients are not the first to know. */
export async function sayWhoServes(context: Context, ended: readonly string[]): Promise<void> {
  const { db } = await context.installation();
  const routes = await listRoutes(db);
  const names = namesOf(await listCarriers(db));
  const next = longestPrefix(Object.fromEntries(routes.map((route) => [route.prefix, route])));
  for (const prefix of ended) {
    const route = next(prefix);
    if (!route) continue;
    const carriers = names(route.carrierIds).join(", ");
    context.terminal.say(
      `The route for ${shownPrefix(prefix)} is removed; its numbers now go to ${carriers}, by the route for ${shownPrefix(route.prefix)}.`,
    );
  }
  warnOfUnserved(context, routes);
}

/** Without a default route, most numbers may have no route at all. */
function warnOfUnserved({ terminal }: Context, routes: readonly Route[]): void {
  if (routes.some((route) => route.prefix === "")) return;
  const others = routes.length === 0 ? "All numbers" : "Numbers with no other prefix";
  terminal.say(
    `${others} are refused from now on: they have no route left. Set one with: npx posthorn route set "" CARRIER`,
  );
}

const list = command({
  name: "route list",
  summary: "Lists the routes by prefix.",
  prints: '{"data":[{"prefix","carriers"}]}',
  examples: ["route list"],
  async run(_given, context) {
    const { db } = await context.installation();
    const names = namesOf(await listCarriers(db));
    const data = (await listRoutes(db)).map(({ prefix, carrierIds }) => ({
      prefix,
      carriers: names(carrierIds),
    }));
    const lines = data.map((route) => [shownPrefix(route.prefix), route.carriers]);
    return { json: { data }, text: table(["PREFIX", "CARRIERS"], lines) };
  },
});

function namesOf(carriers: readonly CarrierRow[]): (carrierIds: readonly string[]) => string[] {
  const names = new Map(carriers.map(({ carrier_id, name }) => [carrier_id, name]));
  return (carrierIds) => carrierIds.map((carrierId) => names.get(carrierId) ?? carrierId);
}

export const routeCommands = [set, remove, list];
