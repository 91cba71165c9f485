import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { call } from "./api.ts";
import { Failure } from "./failure.ts";

/** A service that never answers, and a way to let its callers time out. */
function hangs(t: TestContext): { runOut: () => void; limits: number[] } {
  const deadline = new AbortController();
  const limits: number[] = [];
  t.mock.method(AbortSignal, "timeout", (ms: number) => {
    limits.push(ms);
    return deadline.signal;
  });
  t.mock.method(globalThis, "fetch", (_address: string, { signal }: { signal: AbortSignal }) => {
    const { promise, reject } = Promise.withResolvers<Response>();
    signal.addEventListener("abort", () => reject(signal.reason as Error));
    return promise;
  });
  return { runOut: () => deadline.abort(new DOMException("late", "TimeoutError")), limits };
}

test("a call without an answer within 30 s fails as unanswered", async (t) => {
  const { runOut, limits } = hangs(t);

  const asked = call("GET /console/me", {}, { signal: new AbortController().signal });
  runOut();

  await assert.rejects(asked, (error) => error instanceof Failure && error.code === "OFFLINE");
  assert.deepEqual(limits, [30_000]);
});

test("a call that its page gives up is reported as that, and not as a failure", async (t) => {
  hangs(t);
  const page = new AbortController();

  const asked = call("GET /console/me", {}, { signal: page.signal });
  page.abort();

  await assert.rejects(asked, { name: "AbortError" });
});

test("without an answer, only a write may or may not have happened", async (t) => {
  const { runOut } = hangs(t);

  const read = call("GET /console/me", {});
  const write = call("PATCH /console/me", { body: { version: 1, name: "Ada" } });
  const readByPost = call("POST /console/links/read", { body: { token: "" } }, { onlyReads: true });
  runOut();

  for (const each of [read, readByPost])
    await assert.rejects(each, { message: "No answer came. Check your connection." });
  await assert.rejects(write, { message: /your change may or may not have been made/ });
});

test("a write that failed in the service, or that another answered for, may or may not have happened", async (t) => {
  const unavailable = {
    error: { code: "UNAVAILABLE", message: "Nothing was accepted.", details: [] },
  };
  const failed = { error: { code: "INTERNAL", message: "Something failed.", details: [] } };
  const write = () => call("PATCH /console/me", { body: { version: 1, name: "Ada" } });
  const answer = (status: number, body: string) =>
    t.mock.method(globalThis, "fetch", () => Promise.resolve(new Response(body, { status })));

  answer(500, JSON.stringify(failed));
  await assert.rejects(write, { message: /Your change may or may not have been made/ });
  answer(502, "<html>Bad gateway</html>");
  await assert.rejects(write, { message: /Your change may or may not have been made/ });
  answer(403, "<html>Forbidden</html>");
  await assert.rejects(write, { message: /^The answer did not come from Posthorn[^?]*sent it\.$/ });
  answer(503, JSON.stringify(unavailable));
  await assert.rejects(write, { message: "Nothing was accepted." });
  answer(500, JSON.stringify(failed));
  await assert.rejects(call("GET /console/me", {}), { message: /^[^?]*request id\.$/ });
  const readByPost = call("POST /console/links/read", { body: { token: "" } }, { onlyReads: true });
  await assert.rejects(readByPost, { message: /^[^?]*request id\.$/ });
});

test("an answer that breaks off is none", async (t) => {
  const breaksOff = () =>
    new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
  t.mock.method(globalThis, "fetch", () => Promise.resolve(new Response(breaksOff())));

  await assert.rejects(call("GET /console/me", {}), { code: "OFFLINE" });
});

test("a success that is no JSON, such as the page of a proxy, is a failure, and a write may or may not have happened", async (t) => {
  t.mock.method(globalThis, "fetch", () => Promise.resolve(new Response("<html>Sign in</html>")));

  const read = call("GET /console/me", {});
  const write = call("PATCH /console/me", { body: { version: 1, name: "Ada" } });

  await assert.rejects(read, { message: /^The answer did not come from Posthorn[^?]*sent it\.$/ });
  await assert.rejects(write, { message: /Your change may or may not have been made/ });
});
