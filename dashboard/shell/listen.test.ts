import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { listen } from "./listen.ts";

/** The streams that were opened, in order. */
function fakeStreams(t: TestContext) {
  const opened: FakeSource[] = [];
  class FakeSource extends EventTarget {
    static readonly CLOSED = 2;
    readyState = 1;
    constructor() {
      super();
      opened.push(this);
    }
    close(): void {
      this.readyState = FakeSource.CLOSED;
    }
    hears(type: string): void {
      this.dispatchEvent(new Event(type));
    }
  }
  const before = globalThis.EventSource;
  globalThis.EventSource = FakeSource as unknown as typeof EventSource;
  t.after(() => (globalThis.EventSource = before));
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return opened;
}

test("a stream silent for 40 s counts as off, and is reopened until it is told to stop", (t) => {
  const opened = fakeStreams(t);
  const states: boolean[] = [];
  const stop = listen("/stream", { onEvents: () => {}, onState: (isOn) => states.push(isOn) });
  opened[0]?.hears("open");

  t.mock.timers.tick(40_000);
  assert.deepEqual(states, [true, false]);
  assert.deepEqual(
    opened.map(({ readyState }) => readyState),
    [2, 1],
  );
  t.mock.timers.tick(40_000);
  assert.equal(opened.length, 3, "one that does not even open is silent too");
  opened[2]?.hears("open");
  assert.deepEqual(states, [true, false, false, true]);

  stop();
  t.mock.timers.tick(80_000);
  assert.equal(opened.length, 3);
});

test("a stream that sends a beat every 15 s stays on", (t) => {
  const opened = fakeStreams(t);
  const states: boolean[] = [];
  const stop = listen("/stream", { onEvents: () => {}, onState: (isOn) => states.push(isOn) });
  opened[0]?.hears("open");

  for (let n = 0; n < 10; n += 1) {
    t.mock.timers.tick(15_000);
    opened[0]?.hears("beat");
  }

  assert.deepEqual(states, [true]);
  assert.equal(opened.length, 1);
  stop();
});
