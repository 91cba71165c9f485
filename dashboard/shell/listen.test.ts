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
    hears(type: string, data?: object): void {
      this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
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

test("a stream that was refused is opened again after 10 s, once; one that the browser retries is not", (t) => {
  const opened = fakeStreams(t);
  const states: boolean[] = [];
  const stop = listen("/stream", { onEvents: () => {}, onState: (isOn) => states.push(isOn) });

  t.mock.timers.tick(5_000);
  opened[0]?.hears("error");
  t.mock.timers.tick(30_000);
  opened[0]?.close();
  opened[0]?.hears("error");
  t.mock.timers.tick(9_999);
  assert.equal(opened.length, 1);
  t.mock.timers.tick(1);
  assert.equal(opened.length, 2);
  assert.deepEqual(states, [false, false]);

  opened[1]?.close();
  opened[1]?.hears("error");
  stop();
  t.mock.timers.tick(80_000);
  assert.equal(opened.length, 2);
});

test("events that come together are told together, and none after the page has stopped listening", (t) => {
  const opened = fakeStreams(t);
  const told: object[][] = [];
  const onEvents = (events: object[]) => void told.push(events);
  const stop = listen("/stream", { onEvents, onState: () => {} });
  const [one, other] = [{ type: "key", id: "k1" }, { type: "credits" }];

  opened[0]?.hears("message", one);
  opened[0]?.hears("message", other);
  t.mock.timers.tick(1_000);
  opened[0]?.hears("message", one);
  stop();
  t.mock.timers.tick(1_000);

  assert.deepEqual(told, [[one, other]]);
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
