import { listRoutes, measureCarrierQueues } from "#messages";
import { MAX_COUNTED, type Queryable, quoted } from "#platform";
import { listCarriers, removeCarrier } from "#sending";
import { nameArgument } from "./carrier-options.ts";
import { ACTOR, command, CommandFailure } from "./command.ts";
import { flag } from "./input.ts";
import { requireCarrier, sayWhoServes } from "./route-commands.ts";
import { facts } from "./table.ts";

export const removeCarrierCommand = command({
  name: "carrier remove",
  summary: "Removes a carrier, without a restart. Its routes continue without it.",
  arguments: { name: nameArgument },
  options: { yes: flag("Confirms the removal of a carrier that messages are waiting for.") },
  prints: '{"carrierId","name","state"}',
  examples: ["carrier remove acme"],
  async run({ name, yes }, context) {
    const { db } = await context.installation();
    const { carrier_id: carrierId, kind } = requireCarrier(await listCarriers(db), name);
    if (!yes) await refuseWhileWaitedFor(db, { carrierId, name });
    const routes = await listRoutes(db);
    await removeCarrier(db, { carrierId, actor: ACTOR, now: context.clock.now() });
    const ended = routes.filter((route) => route.carrierIds.every((each) => each === carrierId));
    await sayWhoServes(
      context,
      ended.map(({ prefix }) => prefix),
    );
    if (kind === "smpp")
      context.terminal.say(
        "Receipts that are still to come will match nothing: their messages stay SENT.",
      );
    if (kind === "simulator")
      context.terminal.say(
        `${name} no longer simulates anything. Bring it back with: npx posthorn carrier add ${quoted(name)} --simulator`,
      );
    const json = { carrierId, name, state: "removed" };
    return { json, text: facts(json) };
  },
});

/** Waiting messages may have no other route, and removal is final: so refuse before it. */
async function refuseWhileWaitedFor(
  db: Queryable,
  { carrierId, name }: { carrierId: string; name: string },
): Promise<void> {
  const queues = await measureCarrierQueues(db);
  const {
    due = 0,
    held = 0,
    scheduled = 0,
  } = queues.find(({ carrier_id }) => carrier_id === carrierId) ?? {};
  const waiting = due + held + scheduled;
  if (waiting === 0) return;
  const counted = waiting === 1 ? "1 message waits" : `${waiting} messages wait`;
  throw new CommandFailure(
    `${waiting >= MAX_COUNTED ? "At least " : ""}${counted} for ${name}. Without it, they go to the next carrier of their route; if there is none, they wait for one until they expire, and those already handed over in part fail. To let it send them, take it out of its routes first, and remove it once nothing waits. Or confirm with --yes.`,
  );
}
