import { changeCarrier, listCarriers, readCarrierStates, untilHeldBack } from "#sending";
import { nameArgument } from "./carrier-options.ts";
import { ACTOR, command } from "./command.ts";
import { requireCarrier } from "./route-commands.ts";
import { facts } from "./table.ts";

type Words = { name: string; summary: string; example: string };

/** Nodes look every second and report every two; a submit under way may take longer. */
const WAIT_MS = 10_000;

function notYet(nodes: number): string {
  const who = nodes === 1 ? "1 node has" : `${nodes} nodes have`;
  return `${who} not confirmed it yet; a message being handed over now may still leave.`;
}

function pausing(paused: boolean, { name: commandName, summary, example }: Words) {
  return command({
    name: commandName,
    summary,
    arguments: { name: nameArgument },
    prints: '{"carrierId","name","state"}',
    examples: [example],
    async run({ name }, context) {
      const { db, secrets: openBox } = await context.installation();
      const { carrier_id: carrierId } = requireCarrier(await listCarriers(db), name);
      const change = { actor: ACTOR, now: context.clock.now() };
      await changeCarrier(db, { carrierId, paused, secrets: await openBox(), ...change });
      const limits = { clock: context.clock, limitMs: WAIT_MS };
      const missing = paused ? await untilHeldBack(db, carrierId, limits) : 0;
      if (missing > 0) context.terminal.say(notYet(missing));
      const seen = await readCarrierStates(db, [{ carrier_id: carrierId, paused }]);
      const json = { carrierId, name, state: seen.get(carrierId)?.state ?? "unknown" };
      return { json, text: facts(json) };
    },
  });
}

export const pauseCommands = [
  pausing(true, {
    name: "carrier pause",
    summary:
      "Stops sending through a carrier, and waits up to 10 s until every node confirms it; its receipts keep coming. Messages routed to it wait until it is resumed.",
    example: "carrier pause acme",
  }),
  pausing(false, {
    name: "carrier resume",
    summary: "Sends through a paused carrier again, without a restart.",
    example: "carrier resume acme",
  }),
];
