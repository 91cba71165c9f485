import assert from "node:assert/strict";
import { test } from "node:test";
import { type Database, newId, sql, systemClock } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { bindShares } from "./bind-shares.ts";
import { heartbeat } from "./nodes.ts";

test("this node keeps the binds of a carrier that is leaving until it has left", async () => {
  await using db = await testDatabase();
  const startedAt = systemClock.now();
  const [nodeId, carrierId] = [newId(startedAt.getTime()), newId(startedAt.getTime())];
  const node = { nodeId, roles: ["sender"], host: "test", pid: 1, version: "0", startedAt };
  await db.query(sql`
    insert into bind_leases (carrier_id, slot, node_id, leased_until)
    values (${carrierId}, 0, ${nodeId}, clock_timestamp() + interval '1 s')`);

  const leaving = new Map([[carrierId, "until its last answer"]]);
  await bindShares({ db, clock: systemClock, node, members: new Map(), leaving }).renew();

  const leases = await db.query(sql`
    select slot, leased_until > clock_timestamp() + interval '10 s' as is_renewed from bind_leases`);
  assert.deepEqual(leases, [{ slot: 0, is_renewed: true }]);
});

test("a node that was away takes only as many binds as make the shares equal", async () => {
  for (const [most, shares] of [
    [1, { back: 0, other: 1 }],
    [3, { back: 1, other: 2 }],
    [4, { back: 2, other: 2 }],
  ] as const) {
    await using db = await testDatabase();
    const carrierId = newId(systemClock.now().getTime());
    const [back, other] = [sharing(db, carrierId, most), sharing(db, carrierId, most)];
    await other.renew();
    const before = other.held();

    for (let look = 0; look < 3; look += 1) for (const node of [back, other]) await node.renew();

    assert.equal(before, most);
    assert.deepEqual({ back: back.held(), other: other.held() }, shares);
  }
});

test("the others retry the binds that a node may have kept from them when it comes back, and only then", async () => {
  await using db = await testDatabase();
  const carrierId = newId(systemClock.now().getTime());
  const [back, other] = [sharing(db, carrierId, 1), sharing(db, carrierId, 1)];
  await other.renew();
  const tries = [other.tries()];

  await back.renew();
  for (let look = 0; look < 2; look += 1) {
    await other.renew();
    tries.push(other.tries());
  }

  assert.deepEqual(tries, [0, 1, 1]);
});

test("a node that hands nothing over gets no share of the binds", async () => {
  await using db = await testDatabase();
  const startedAt = systemClock.now();
  const [nodeId, carrierId] = [newId(startedAt.getTime()), newId(startedAt.getTime())];
  await heartbeat(db, { nodeId, roles: ["api"], host: "test", pid: 1, version: "0", startedAt });
  const sender = sharing(db, carrierId, 2);

  await sender.renew();

  assert.equal(sender.held(), 2);
});

test("when a carrier allows fewer binds, no more than that are held once each node has looked", async () => {
  await using db = await testDatabase();
  const carrierId = newId(systemClock.now().getTime());
  const [back, other] = [sharing(db, carrierId, 3), sharing(db, carrierId, 3)];
  await other.renew();
  for (let look = 0; look < 3; look += 1) for (const node of [back, other]) await node.renew();
  assert.deepEqual({ back: back.held(), other: other.held() }, { back: 1, other: 2 });

  for (const node of [other, back]) node.allow(1);
  for (const node of [other, back]) await node.renew();

  assert.equal(back.held() + other.held(), 1);
});

/** A node with only this carrier. Nodes created earlier have lower ids. */
function sharing(db: Database, carrierId: string, most: number) {
  const startedAt = systemClock.now();
  const nodeId = newId(startedAt.getTime());
  const node = { nodeId, roles: ["sender"], host: "test", pid: 1, version: "0", startedAt };
  let held = 0;
  const hold = (share: number) => {
    held = share;
  };
  let tries = 0;
  const tryAgain = () => {
    tries += 1;
  };
  const binds = { most, hold, tryAgain, isClosing: () => false };
  const members = new Map([[carrierId, { binds }]]);
  const shares = bindShares({ db, clock: systemClock, node, members, leaving: new Map() });
  return {
    renew: () => shares.renew(),
    held: () => held,
    tries: () => tries,
    allow: (fewer: number) => {
      binds.most = fewer;
    },
  };
}
