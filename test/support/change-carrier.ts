import { secretBox, sql, systemClock } from "#platform";
import { changeCarrier } from "#sending";
import { eventually } from "./eventually.ts";
import type { SendingWorld } from "./sending.ts";

type Changes = { settings?: object; paused?: boolean; password?: string };

/** Changes the carrier of this name, as an operator does. */
export async function change(
  { api }: SendingWorld,
  name: string,
  { settings, ...changes }: Changes,
): Promise<void> {
  const [carrier] = await api.db.query<{ carrier_id: string; settings: object }>(sql`
    select carrier_id, settings from carriers where name = ${name}`);
  await changeCarrier(api.db, {
    carrierId: carrier?.carrier_id ?? "",
    ...(settings && { settings: { ...carrier?.settings, ...settings } }),
    ...changes,
    secrets: secretBox(api.secretKey),
    actor: "test",
    now: systemClock.now(),
  });
}

/** Resolves once the world's only node uses what the tables held when this was called. */
export async function nodeSees(world: SendingWorld): Promise<void> {
  // A node reports after it has read; its first report may follow a read from before the call.
  await nodeHeard(world);
  await nodeHeard(world);
}

async function nodeHeard(world: SendingWorld): Promise<void> {
  const before = await heardAt(world);
  // Any change makes the node report at once.
  await change(world, "simulator", {});
  await eventually("the node is heard", async () => (await heardAt(world)) > before);
}

export async function heardAt({ api }: SendingWorld): Promise<Date> {
  const [node] = await api.db.query<{ heard_at: Date }>(sql`select heard_at from nodes`);
  if (!node) throw new Error("There is no node.");
  return node.heard_at;
}
