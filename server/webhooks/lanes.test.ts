import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { attempt, key, late, ok, placeOf } from "../../test/support/lanes.ts";
import { type ManualClock, manualClock } from "../../test/support/manual-clock.ts";
import { accountOf } from "#messages";
import { HOUR_MS } from "#platform";
import type { Place } from "./lane.ts";
import { caps, type Kind } from "./lane-slots.ts";
import { laneKeeper, type Lanes } from "./lanes.ts";
import type { Outcome } from "./outcome.ts";

const broken: Outcome = { kind: "answered", status: 500, retryAfter: null };

const forged: Outcome = { kind: "failed", class: "tls_certificate_untrusted", detail: "" };

function keeper(clock: ManualClock = manualClock()): Lanes {
  return laneKeeper({ clock, random: () => 0.5 });
}

/** Grants and begins as many as there is room for. */
function fill(
  lanes: Lanes,
  hostKeys: bigint[],
  kind: Kind = "first",
  at?: Place,
): Map<bigint, number> {
  const grants = lanes.grant(hostKeys, kind);
  for (const { hostKey, slots } of grants) {
    const place = at ?? placeOf(hostKey);
    for (let n = 0; n < slots; n += 1) assert.ok(lanes.begin(hostKey, kind, place));
  }
  return new Map(grants.map(({ hostKey, slots }) => [hostKey, slots]));
}

function end(
  lanes: Lanes,
  hostKey: bigint,
  outcome: Outcome,
  wish: { kind?: Kind; durationMs?: number; at?: Place | undefined } = {},
) {
  const { kind = "first", durationMs = 10, at: place = placeOf(hostKey) } = wish;
  lanes.end({ hostKey, kind, place, outcome, durationMs });
}

/** Proves a lane until it may have 32 in flight. */
function prove(lanes: Lanes, hostKey: bigint, at?: Place): bigint {
  for (let n = 0; n < 25; n += 1) attempt(lanes, hostKey, ok, { at });
  return hostKey;
}

function disprove(lanes: Lanes, hostKey: bigint): bigint {
  for (let n = 0; n < 5; n += 1) attempt(lanes, hostKey, broken);
  return hostKey;
}

function sum(grants: Map<bigint, number>): number {
  return [...grants.values()].reduce((total, slots) => total + slots, 0);
}

test("an unproven host gets 2 slots, a proven one up to 32", () => {
  const lanes = keeper();

  assert.equal(fill(lanes, [key(1)]).get(key(1)), 2);
  assert.equal(fill(lanes, [prove(lanes, key(2))]).get(key(2)), 32);
});

test("one account gets 64 slots, 16 of them to hosts that are not proven", () => {
  const lanes = keeper();
  const proven = [1, 2, 3].map((host) => prove(lanes, key(1, host)));
  const unproven = Array.from({ length: 20 }, (_, host) => key(1, 100 + host));

  assert.equal(sum(fill(lanes, unproven)), 16);
  assert.equal(sum(fill(lanes, proven)), 48);
  assert.equal(sum(fill(lanes, proven)), 0);
});

test("a proven receiver that fails in TLS makes all of its account unreliable, for an hour", () => {
  const clock = manualClock();
  const lanes = keeper(clock);
  const [turned, same, other] = [key(1, 1), key(1, 2), key(2)].map((each) => prove(lanes, each));
  const reliable = () => [turned, same, other].map((each) => lanes.isReliable(each ?? 0n));

  const before = reliable();
  attempt(lanes, turned ?? 0n, forged);
  attempt(lanes, turned ?? 0n, ok);
  const after = reliable();
  clock.advance(HOUR_MS + 1);

  assert.deepEqual(before, [true, true, true]);
  assert.deepEqual(after, [false, false, true]);
  assert.deepEqual(reliable(), [true, true, true]);
});

test("a TLS failure of an unproven receiver, or a TLS time-out, takes nobody's reliability", () => {
  const lanes = keeper();
  const proven = prove(lanes, key(1, 1));

  attempt(lanes, key(1, 2), forged);
  attempt(lanes, proven, { kind: "failed", class: "tls_timeout", detail: "" });

  assert.deepEqual([lanes.isReliable(proven), lanes.isReliable(key(1, 2))], [true, false]);
});

test("hosts that are not proven get 128 slots together, however many accounts ask", () => {
  const lanes = keeper();
  const everywhere = Array.from({ length: 200 }, (_, account) => key(account));

  assert.equal(sum(fill(lanes, everywhere)), 128);
});

test("proven hosts have 128 slots whatever unproven ones do", () => {
  const lanes = keeper();
  const proven = [501, 502, 503, 504].map((account) => prove(lanes, key(account)));
  fill(
    lanes,
    Array.from({ length: 200 }, (_, account) => key(account)),
  );

  assert.equal(sum(fill(lanes, proven)), 128);
});

test("retries and replays get 192 slots together; 64 stay for first attempts", () => {
  const lanes = keeper();
  const proven = Array.from({ length: 12 }, (_, account) => prove(lanes, key(account)));

  assert.equal(sum(fill(lanes, proven, "again")), 192);
  assert.equal(sum(fill(lanes, proven, "first")), 64);
  assert.deepEqual(lanes.inFlight(), { all: 256, again: 192, unproven: 0 });
});

test("one host name takes 64 attempts over all accounts; the slot of the next is given back", () => {
  const lanes = keeper();
  const shared = {
    accountId: "a1",
    hostname: "hooks.example.com",
    origin: "https://hooks.example.com",
  };
  const proven = [1, 2, 3].map((account) => prove(lanes, key(account)));
  let begun = 0;
  for (const { hostKey, slots } of lanes.grant(proven, "first")) {
    for (let n = 0; n < slots; n += 1) begun += lanes.begin(hostKey, "first", shared) ? 1 : 0;
  }

  assert.equal(begun, 64);
  assert.equal(lanes.inFlight().all, 64);
  lanes.end({ hostKey: key(1), kind: "first", place: shared, outcome: ok, durationMs: 10 });
  assert.ok(lanes.take(key(3), "first"));
  assert.equal(lanes.begin(key(3), "first", shared), true);
});

test("a host that stops answering gives up its slots and takes no more than two", () => {
  const lanes = keeper();
  const host = prove(lanes, key(1));
  const started = fill(lanes, [host]).get(host) ?? 0;

  for (let n = 0; n < started; n += 1) end(lanes, host, broken);

  assert.equal(fill(lanes, [host]).get(host), 2);
});

test("slots of a host that is no longer proven count among the unproven", () => {
  const lanes = keeper();
  const host = prove(lanes, key(1));
  fill(lanes, [host]);

  for (let n = 0; n < 3; n += 1) end(lanes, host, late, { durationMs: 10_000 });

  assert.deepEqual(lanes.inFlight(), { all: 29, again: 0, unproven: 29 });
});

test("an open host gets nothing until its probe is due, then one attempt", () => {
  const clock = manualClock();
  const lanes = keeper(clock);
  for (let n = 0; n < 10; n += 1) attempt(lanes, key(1), late, { durationMs: 10_000 });

  assert.equal(sum(fill(lanes, [key(1)])), 0);
  clock.advance(30_000);
  assert.equal(sum(fill(lanes, [key(1)])), 1);
  assert.equal(sum(fill(lanes, [key(1)])), 0);
});

test("an explicit request lets an open host be tried at once", () => {
  const lanes = keeper();
  for (let n = 0; n < 10; n += 1) attempt(lanes, key(1), late, { durationMs: 10_000 });

  lanes.probe(key(1));

  assert.equal(sum(fill(lanes, [key(1)], "again")), 1);
});

test("one replay lets an open host be tried at once only once; the next replay does so again", () => {
  const lanes = keeper();
  for (let n = 0; n < 10; n += 1) attempt(lanes, key(1), late, { durationMs: 10_000 });
  const triedFor = (replayId: string) => {
    lanes.probe(key(1), replayId);
    const mayTry = lanes.mayTry(key(1));
    if (mayTry) attempt(lanes, key(1), late, { durationMs: 0 });
    return mayTry;
  };

  assert.deepEqual(["a", "a", "b", "b"].map(triedFor), [true, false, true, false]);
});

test("when slots are scarce every account gets its share, however many hosts another has", () => {
  const lanes = keeper();
  const wide = Array.from({ length: 400 }, (_, host) => key(1, host));
  const narrow = Array.from({ length: 63 }, (_, n) => key(2 + n));
  // 100 of the 128 slots for strangers are taken.
  fill(
    lanes,
    Array.from({ length: 50 }, (_, n) => key(1_000 + n)),
  );

  const granted = fill(lanes, [...wide, ...narrow]);

  const accounts = new Set([...granted.keys()].map(accountOf));
  assert.equal(sum(granted), 28);
  assert.equal(accounts.size, 28);
});

test("the account that was served least recently comes first", () => {
  const lanes = keeper();
  const accounts = Array.from({ length: 56 }, (_, n) => key(1 + n));
  // 28 slots for strangers are left.
  fill(
    lanes,
    Array.from({ length: 50 }, (_, n) => key(1_000 + n)),
  );
  const first = fill(lanes, accounts);
  for (const hostKey of first.keys()) end(lanes, hostKey, broken);

  const second = fill(lanes, accounts);

  assert.equal(sum(first), 28);
  assert.equal(sum(second), 28);
  assert.ok(second.keys().every((hostKey) => !first.has(hostKey)));
});

test("within an account the host that was served least recently comes first", () => {
  const lanes = keeper();
  const hosts = Array.from({ length: 40 }, (_, host) => key(1, host));
  const served = new Set<bigint>();
  // 16 slots a turn: after three turns every one of the 40 hosts has had one.
  for (let turn = 0; turn < 3; turn += 1) {
    const granted = fill(lanes, hosts);
    for (const [hostKey, slots] of granted) {
      served.add(hostKey);
      for (let n = 0; n < slots; n += 1) end(lanes, hostKey, broken);
    }
  }

  assert.equal(served.size, 40);
});

/** The lanes with all slots of a kind, and a late one that waits for one of them. */
const scarce: Record<string, (lanes: Lanes) => { busy: bigint[]; late: bigint; at?: Place }> = {
  "all slots of the node": (lanes) => ({
    busy: Array.from({ length: 8 }, (_, n) => prove(lanes, key(1 + n))),
    late: prove(lanes, key(20)),
  }),
  "an account's slots": (lanes) => ({
    busy: [1, 2].map((host) => prove(lanes, key(1, host))),
    late: prove(lanes, key(1, 3)),
  }),
  "a host name's slots": (lanes) => ({
    busy: [1, 2].map((account) => prove(lanes, key(account), placeOf(7n))),
    late: prove(lanes, key(3), placeOf(7n)),
    at: placeOf(7n),
  }),
  "an account's slots for the unproven": (lanes) => ({
    busy: Array.from({ length: 8 }, (_, host) => disprove(lanes, key(1, host))),
    late: key(1, 20),
  }),
  "all slots for the unproven": (lanes) => ({
    busy: Array.from({ length: 64 }, (_, n) => disprove(lanes, key(1 + n))),
    late: key(100),
  }),
};

for (const [slots, setUp] of Object.entries(scarce)) {
  test(`a holder of ${slots} keeps them while nobody waits, then yields them by turns`, () => {
    const lanes = keeper();
    const { busy, late: waiting, at } = setUp(lanes);
    const [first = 0n] = busy;
    fill(lanes, busy, "first", at);
    const outcome = lanes.healthOf(first) === "proven" ? ok : broken;

    end(lanes, first, outcome, { at });
    assert.ok(lanes.take(first, "first"));
    assert.ok(lanes.begin(first, "first", at ?? placeOf(first)));
    assert.equal(sum(fill(lanes, [waiting], "first", at)), 0);
    end(lanes, first, outcome, { at });

    assert.equal(lanes.take(first, "first"), false);
    assert.deepEqual([...fill(lanes, [...busy, waiting], "first", at).keys()], [waiting]);
  });
}

test("slots given back are free again", () => {
  const lanes = keeper();
  const [grant] = lanes.grant([key(1)], "again");
  assert.ok(grant);

  lanes.giveBack(grant, "again");

  assert.deepEqual(lanes.inFlight(), { all: 0, again: 0, unproven: 0 });
});

test("a lane that was used is reported once, with its host, health, counts and times", () => {
  const clock = manualClock();
  const lanes = keeper(clock);
  attempt(lanes, key(1), ok, { durationMs: 120 });
  // Neither says anything about the host.
  for (const kind of ["our_fault", "forbidden"] as const)
    attempt(lanes, key(1), { kind, detail: "" });
  clock.advance(1_000);

  const [report, ...others] = lanes.takeChanges();

  assert.deepEqual(others, []);
  assert.deepEqual(report, {
    hostKey: key(1),
    accountId: "a1",
    origin: placeOf(key(1)).origin,
    health: "proven",
    since: new Date("2026-11-15T09:30:00.000Z"),
    ok: 1,
    failed: 0,
    p95Ms: 120,
    lastOkAt: new Date("2026-11-15T09:30:00.000Z"),
  });
  assert.deepEqual(lanes.takeChanges(), []);
});

test("lanes are forgotten past a limit, except those with something in flight", () => {
  const lanes = laneKeeper({ clock: manualClock(), random: () => 0.5, maxLanes: 100 });
  const busy = prove(lanes, key(1));
  const inFlight = fill(lanes, [busy]).get(busy);
  for (let n = 0; n < 1_000; n += 1) attempt(lanes, key(2, n), broken);

  for (let n = 0; n < (inFlight ?? 0); n += 1) end(lanes, busy, ok);

  assert.equal(fill(lanes, [busy]).get(busy), 32);
  assert.deepEqual(lanes.inFlight(), { all: 32, again: 0, unproven: 0 });
});

// The model: no cap is exceeded, in whatever order attempts are granted, begun, given back, ended.

type Step =
  | { do: "grant"; lanes: number[]; kind: Kind }
  | { do: "begin" | "giveBack"; pick: number }
  | { do: "end"; pick: number; outcome: Outcome; durationMs: number }
  | { do: "wait"; ms: number };

const HOSTS = 6;
const ACCOUNTS = 12;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("grant" as const),
      lanes: fc.array(fc.nat(ACCOUNTS * HOSTS - 1), { maxLength: 30 }),
      kind: fc.constantFrom<Kind>("first", "again"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("begin" as const, "begin" as const, "giveBack" as const),
      pick: fc.nat(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      pick: fc.nat(),
      outcome: fc.constantFrom(ok, ok, ok, broken, late),
      durationMs: fc.constantFrom(5, 100, 5_000, 10_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(10, 30_000, 90_000_000),
    }),
  },
);

type Slot = { hostKey: bigint; kind: Kind };

test("no interleaving of claims and answers exceeds a cap", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 400, size: "max" }), (steps) => {
      const clock = manualClock();
      const lanes = keeper(clock);
      const granted: Slot[] = [];
      const running: Slot[] = [];
      const everProven = new Set<bigint>();
      for (const action of steps) {
        run(action, { clock, lanes, granted, running, everProven });
        checkCaps([...granted, ...running], everProven);
        checkHostnames(running);
        assert.equal(lanes.inFlight().all, granted.length + running.length);
      }
      for (const slot of granted) lanes.giveBack({ hostKey: slot.hostKey, slots: 1 }, slot.kind);
      for (const slot of running)
        lanes.end({ ...slot, place: sharedPlace(slot.hostKey), outcome: ok, durationMs: 5 });
      assert.deepEqual(lanes.inFlight(), { all: 0, again: 0, unproven: 0 });
    }),
    { numRuns: 60 },
  );
});

type World = {
  clock: ManualClock;
  lanes: Lanes;
  granted: Slot[];
  running: Slot[];
  everProven: Set<bigint>;
};

/** Accounts share host names, as in real life. */
function sharedPlace(hostKey: bigint): Place {
  const hostname = `h${hostKey % 65_536n}`;
  return { accountId: "a1", hostname, origin: `https://${hostname}` };
}

function run(action: Step, { clock, lanes, granted, running, everProven }: World): void {
  if (action.do === "wait") clock.advance(action.ms);
  if (action.do === "grant") {
    const { kind } = action;
    const wanted = action.lanes.map((n) => key(1 + (n % ACCOUNTS), Math.floor(n / ACCOUNTS)));
    for (const { hostKey, slots } of lanes.grant(wanted, kind)) {
      for (let n = 0; n < slots; n += 1) granted.push({ hostKey, kind });
    }
  }
  if (action.do === "begin" || action.do === "giveBack") {
    const [slot] = granted.splice(action.pick % (granted.length || 1), 1);
    if (slot === undefined) return;
    if (action.do === "giveBack") lanes.giveBack({ hostKey: slot.hostKey, slots: 1 }, slot.kind);
    else if (lanes.begin(slot.hostKey, slot.kind, sharedPlace(slot.hostKey))) running.push(slot);
  }
  if (action.do === "end") {
    const [slot] = running.splice(action.pick % (running.length || 1), 1);
    if (slot === undefined) return;
    const { outcome, durationMs } = action;
    if (outcome === ok) everProven.add(slot.hostKey);
    lanes.end({ ...slot, place: sharedPlace(slot.hostKey), outcome, durationMs });
  }
}

function checkCaps(slots: Slot[], everProven: Set<bigint>): void {
  const strangers = slots.filter(({ hostKey }) => !everProven.has(hostKey));
  assert.ok(slots.length <= caps.all);
  assert.ok(slots.filter(({ kind }) => kind === "again").length <= caps.again);
  assert.ok(strangers.length <= caps.unproven);
  assert.ok(most(slots, ({ hostKey }) => hostKey) <= 32);
  assert.ok(most(strangers, ({ hostKey }) => hostKey) <= 2);
  assert.ok(most(slots, ({ hostKey }) => accountOf(hostKey)) <= caps.account);
  assert.ok(most(strangers, ({ hostKey }) => accountOf(hostKey)) <= caps.accountUnproven);
}

function checkHostnames(running: Slot[]): void {
  assert.ok(most(running, ({ hostKey }) => sharedPlace(hostKey).hostname) <= caps.hostname);
}

function most<Item>(items: Item[], group: (item: Item) => unknown): number {
  return Math.max(
    0,
    ...Map.groupBy(items, group)
      .values()
      .map(({ length }) => length),
  );
}
