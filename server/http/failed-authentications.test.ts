import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { manualClock } from "../../test/support/manual-clock.ts";
import { failedAuthentications } from "./failed-authentications.ts";

const MINUTE_MS = 60_000;

test("an address may fail 20 times at once, then is told how long to wait", () => {
  const clock = manualClock();
  const failures = failedAuthentications(20, clock);

  const told = Array.from({ length: 22 }, () => failures.count("192.0.2.1"));

  assert.deepEqual(told.slice(0, 20), Array(20).fill(undefined));
  assert.deepEqual(told.slice(20), [3, 3], "a twentieth of a minute");
  assert.equal(failures.count("192.0.2.2"), undefined, "another address is another matter");
  clock.advance(3_000);
  assert.equal(failures.count("192.0.2.1"), undefined);
  assert.equal(failures.count("192.0.2.1"), 3);
});

test("an address that waits as long as told is let through", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(50), (perMinute, extra) => {
      const clock = manualClock();
      const failures = failedAuthentications(perMinute, clock);
      for (let n = 0; n < perMinute + extra; n += 1) failures.count("::1");
      const waitSeconds = failures.count("::1");
      assert.ok(waitSeconds !== undefined && waitSeconds >= 1);
      clock.advance(waitSeconds * 1_000);
      assert.equal(failures.count("::1"), undefined);
    }),
  );
});

test("in any minute, an address fails at most its allowance and what grows back meanwhile", () => {
  const waits = fc.array(fc.nat(5_000), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(waits, (gaps) => {
      const clock = manualClock();
      const failures = failedAuthentications(20, clock);
      const passed: number[] = [];
      for (const gap of gaps) {
        clock.advance(gap);
        if (failures.count("a") === undefined) passed.push(clock.monotonicMs());
      }
      for (const from of passed) {
        const within = passed.filter((at) => at >= from && at < from + MINUTE_MS);
        assert.ok(within.length <= 40);
      }
    }),
  );
});

test("addresses of one /64 share an allowance, and an IPv4 address in IPv6 form is itself", () => {
  const failures = failedAuthentications(1, manualClock());
  assert.equal(failures.count("2001:db8:0:1::1"), undefined);
  assert.notEqual(failures.count("2001:db8:0:1:ffff:ffff:ffff:ffff"), undefined);
  assert.notEqual(failures.count("2001:0DB8:0000:0001::2"), undefined);
  assert.equal(failures.count("2001:db8:0:2::1"), undefined);
  assert.equal(failures.count("::ffff:192.0.2.1"), undefined);
  assert.notEqual(failures.count("192.0.2.1"), undefined);
});

test("memory is bounded: past ten thousand addresses the longest unseen is forgotten", () => {
  const failures = failedAuthentications(1, manualClock());
  assert.equal(failures.count("first"), undefined);
  assert.equal(failures.count("second"), undefined);
  assert.notEqual(failures.count("first"), undefined);

  for (let n = 0; n < 9_999; n += 1) failures.count(`stranger ${n}`);

  assert.notEqual(failures.count("first"), undefined);
  assert.equal(failures.count("second"), undefined);
});
