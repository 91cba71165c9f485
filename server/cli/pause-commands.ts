import { changeCarrier, listCarriers, readCarrierStates } from "#sending";
import { nameArgument } from "./carrier-options.ts";
import { ACTOR, command } from "./command.ts";
import { requireCarrier } from "./route-commands.ts";
import { facts } from "./table.ts";

type Words = { name: string; summary: string; example: string };

/** Each node reads it anew every second, and what it has begun it ends. */
const HELD_SOON =
  "Each node heeds this within a second or two; what is just being handed over still goes.";

function pausing(paused: boolean, { name: commandName, summary, example }: Words) {
  return command({
    name: commandName,
    summary,
    arguments: { name: nameArgument },
    options: {},
    prints: '{"carrierId","name","state"}',
    examples: [example],
    async run({ name }, context) {
      const { db, secrets: openBox } = await context.installation();
      const { carrier_id: carrierId } = requireCarrier(await listCarriers(db), name);
      const change = { actor: ACTOR, now: context.clock.now() };
      await changeCarrier(db, { carrierId, paused, secrets: await openBox(), ...change });
      const seen = await readCarrierStates(db, [{ carrier_id: carrierId, paused }]);
      if (paused) context.terminal.say(HELD_SOON);
      const json = { carrierId, name, state: seen.get(carrierId)?.state ?? "unknown" };
      return { json, text: facts(json) };
    },
  });
}

export const pauseCommands = [
  pausing(true, {
    name: "carrier pause",
    summary:
      "Hands a carrier nothing more, from a second or two later on; its receipts go on coming. Messages routed to it wait until it is resumed.",
    example: "carrier pause acme",
  }),
  pausing(false, {
    name: "carrier resume",
    summary: "Hands a paused carrier messages again, in force without a restart.",
    example: "carrier resume acme",
  }),
];
