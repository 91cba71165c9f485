import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { type MessageRow, loadRouting } from "#messages";
import { secretBox, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { addCarrier, listCarriers } from "./carriers-table.ts";
import { rerouting } from "./reroute.ts";

test("a carrier is waited for once: as long as it stays away, what comes later goes on at once", async () => {
  await using api = await startApi();
  const { db } = api;
  const [first, next] = await twoCarriers(db);
  const clock = manualClock();
  let isFirstUp = false;
  const pass = rerouting(db, {
    isPaused: () => false,
    isUp: (carrierId) => carrierId === next || isFirstUp,
    upElsewhere: async () => new Set(),
    routing: async () => ({ ...(await loadRouting(db)), carriersFor: () => [first, next] }),
    clock,
  });
  const sendAndPass = async () => {
    const { messageId } = (
      await api.send({ recipient: "4915112345678", text: "Hello" })
    ).json() as {
      messageId: string;
    };
    await pass();
    const [row] = await db.query<Pick<MessageRow, "carrier_id">>(sql`
      select carrier_id from send_queue where message_id = ${messageId}`);
    return row?.carrier_id;
  };

  assert.equal(await sendAndPass(), first, "it may come back any moment");
  clock.advance(5_000);
  assert.equal(await sendAndPass(), next);
  assert.equal(await sendAndPass(), next);
  isFirstUp = true;
  await pass();
  isFirstUp = false;
  assert.equal(await sendAndPass(), first, "it was there again");
});

async function twoCarriers(db: Parameters<typeof addCarrier>[0]): Promise<[string, string]> {
  await addCarrier(db, {
    name: "next",
    settings: { host: "127.0.0.1", system_id: "me" },
    password: "hush",
    secrets: secretBox(randomBytes(32)),
    actor: "test",
    now: systemClock.now(),
  });
  const idOf = new Map((await listCarriers(db)).map(({ name, carrier_id }) => [name, carrier_id]));
  return [idOf.get("simulator") ?? "", idOf.get("next") ?? ""];
}
