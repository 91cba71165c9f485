import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
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

test("a change during the first request, even if that fails, causes another after it", async (t) => {
  const { client, requests, shown } = openPage(t);

  askAgain(client, [ROUTE]);
  requests[0]?.reject(new Error("lost"));
  await settled();
  requests[1]?.resolve("after the change");
  await settled();

  assert.equal(shown(), "after the change");
});
