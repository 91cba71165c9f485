import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { readFailure } from "./failure.ts";
import { askAgain } from "./use-read.ts";

const ROUTE = "GET /console/me";

/** A page that shows the route; the test answers its requests by hand. */
function openPage(t: TestContext) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const requests: PromiseWithResolvers<string>[] = [];
  const observer = new QueryObserver<string>(client, {
    queryKey: [ROUTE, {}],
    queryFn: () => {
      const request = Promise.withResolvers<string>();
      requests.push(request);
      return request.promise;
    },
  });
  t.after(observer.subscribe(() => undefined));
  t.after(() => client.clear());
  return { client, requests, shown: () => observer.getCurrentResult().data };
}

test("an answer under way is shown despite further changes, and is asked for once more after the last", async (t) => {
  const { client, requests, shown } = openPage(t);
  requests[0]?.resolve("at first");
  await settled();

  for (let change = 0; change < 5; change += 1) {
    askAgain(client, [ROUTE]);
    await settled();
  }
  assert.equal(requests.length, 2, "one is on its way");
  requests[1]?.resolve("amid the changes");
  await settled();
  assert.equal(shown(), "amid the changes");
  assert.equal(requests.length, 3, "what came after it was asked is not lost");
  requests[2]?.resolve("after them");
  await settled();

  assert.equal(shown(), "after them");
  assert.equal(requests.length, 3);
});

test("a change during a request that fails causes another, once the failure was shown for a while", async (t) => {
  const { client, requests, shown } = openPage(t);
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });

  askAgain(client, [ROUTE]);
  requests[0]?.reject(new Error("lost"));
  await settled();
  askAgain(client, [ROUTE]);
  t.mock.timers.tick(2_900);
  await settled();
  assert.equal(requests.length, 1);
  t.mock.timers.tick(200);
  await settled();
  requests[1]?.resolve("after the change");
  await settled();

  assert.equal(shown(), "after the change");
  assert.equal(requests.length, 2);
});

test("no change causes another request before the time that the service asked to wait", async (t) => {
  const { client, requests } = openPage(t);
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });

  requests[0]?.reject(readFailure(429, new Headers({ "retry-after": "20" }), {}));
  await settled();
  askAgain(client, [ROUTE]);
  t.mock.timers.tick(19_900);
  await settled();
  assert.equal(requests.length, 1);
  t.mock.timers.tick(200);
  await settled();

  assert.equal(requests.length, 2);
});
