import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { startSmsc } from "#carriers";
import { newId, secretBox, silentLog } from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { leaves, segmentTo, sinkOf } from "../../test/support/smpp.ts";
import { quiet, until } from "../../test/support/until.ts";
import { buildCarrier } from "./build-carrier.ts";
import { sealPassword } from "./carrier-secrets.ts";

for (const { rate, left } of [
  { rate: 100, left: [75, 25, 0] },
  // With no rate, only the window limits them.
  { rate: 0, left: [200, 200, 0] },
]) {
  test(`nodes that hold 3, 1 and none of 4 binds send ${left.join(", ")} in a second, at a rate of ${rate}`, async () => {
    await using world = await startWorld({ binds: 4, rate, window: 200 });
    const { clock, smsc } = world;
    const nodes = [3, 1, 0].map(world.node);
    for (const { holds, carrier } of nodes)
      await until("its binds have room", () => carrier.room() > 0 || holds === 0);
    await smsc.bound(4);

    const { signal } = new AbortController();
    for (const { carrier, recipient } of nodes) {
      for (let n = 0; n < 200; n += 1) void carrier.submit(segmentTo(recipient), signal, leaves);
    }
    clock.advance(999);
    await smsc.submitArrived(left.reduce((sum, count) => sum + count, 0));
    await quiet();

    const received = Map.groupBy(smsc.received(), ({ recipient }) => recipient);
    assert.deepEqual(
      nodes.map(({ recipient }) => received.get(recipient)?.length ?? 0),
      left,
    );
  });
}

/** One carrier to one SMSC, to be built by several nodes. */
async function startWorld(settings: Record<string, unknown>) {
  await using started = new AsyncDisposableStack();
  const smsc = await startSmsc({ receipts: { when: "never" } });
  started.defer(() => smsc.stop());
  const clock = manualClock();
  const secrets = secretBox(randomBytes(32));
  const carrierId = newId(clock.now().getTime());
  const row = {
    carrier_id: carrierId,
    name: "acme",
    kind: "smpp",
    settings: { host: "127.0.0.1", port: smsc.port, system_id: "test", ...settings },
    password: sealPassword(carrierId, "secret", secrets),
    paused: false,
    version: 1,
    created_at: clock.now(),
  } as const;
  const running = started.move();

  return {
    clock,
    smsc,
    node(holds: number) {
      const { carrier, binds } = buildCarrier(row, {
        clock,
        log: silentLog,
        secrets,
        receipts: sinkOf(async () => {}),
      });
      running.defer(() => carrier.stop());
      carrier.start();
      binds?.hold(holds);
      return { carrier, holds, recipient: `491511234560${holds}` };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
