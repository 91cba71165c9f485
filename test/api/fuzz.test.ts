/**
 * Requests generated from the declared schemas, valid and invalid, to every operation. FUZZ_SEED
 * repeats a run, FUZZ_RUNS makes it longer: `FUZZ_RUNS=40 node --test test/api/fuzz.test.ts`.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { InjectOptions } from "fastify";
import fc from "fast-check";
import Schema from "typebox/schema";
import { everywhere, type Message, type Operation, operations } from "#contract";
import { sql } from "#platform";
import { audit } from "../../server/cli/audit/audit.ts";
import { anyProblemOf } from "../support/answers.ts";
import { anyCharacter } from "../support/any-character.ts";
import { startApi } from "../support/api.ts";
import { arbitraryOf, hostile, mutated } from "../support/arbitrary-schema.ts";

const MANY = "1000000";
const CREDITS = 1_000_000;
const api = await startApi({
  credits: CREDITS,
  settings: {
    RATE_LIMIT_SENDS_BURST: MANY,
    RATE_LIMIT_READS_BURST: MANY,
    RATE_LIMIT_FAILED_AUTH: MANY,
  },
});
after(() => api[Symbol.asyncDispose]());

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const runs = Number(process.env["FUZZ_RUNS"] ?? 1);
console.log(`fuzz: FUZZ_SEED=${seed} FUZZ_RUNS=${runs}`);

/** How many requests of one property run at the same time, as they would in production. */
const AT_ONCE = 25;
type Answer = Awaited<ReturnType<typeof api.inject>>;
const acceptedIds = new Set<string>();
const acceptedCredits = new Map<string, number>();

/** Sends requests and checks what must hold for any answer. */
async function assertSound(
  name: keyof typeof operations,
  requests: fc.Arbitrary<InjectOptions>,
  judge: (answer: Answer, request: InjectOptions) => void = () => {},
): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(requests, { minLength: AT_ONCE, maxLength: AT_ONCE }),
    async (each) => {
      await Promise.all(
        each.map(async (request) => {
          const answer = await api.inject(request);
          assertAnswer(name, answer);
          judge(answer, request);
        }),
      );
    },
  );
  await fc.assert(property, { seed, numRuns: 4 * runs });
}

function assertAnswer(name: keyof typeof operations, answer: Answer): void {
  assert.ok(answer.statusCode < 500, `${answer.statusCode}: ${answer.body}`);
  const operation: Operation = operations[name];
  if (answer.statusCode === operation.success.status) {
    assert.ok(Schema.Check(operation.success.body, answer.json()), answer.body);
    return;
  }
  const { code } = anyProblemOf(answer);
  const declared: readonly string[] = [...operation.errors, ...everywhere];
  assert.ok(declared.includes(code), `${name} does not declare ${code}`);
  assert.ok(!answer.body.includes(api.key), "an answer never holds a key");
}

/** Records what was accepted, to compare it with what was stored. */
function note(answer: Answer): void {
  if (answer.statusCode !== 202) return;
  const body = answer.json() as Message & { data?: Message[] };
  for (const { messageId, credits } of body.data ?? [body]) {
    acceptedIds.add(messageId);
    acceptedCredits.set(messageId, credits);
  }
}

const known = {
  recipient: fc.constantFrom("4915112345678", "+447911123456", "14155552671", "33612345678"),
  text: fc.string({ unit: "grapheme", minLength: 1, maxLength: 50 }),
  sender: fc.constantFrom("Posthorn", "12345", "+4915112345678", null),
  callbackUrl: fc.constantFrom("https://example.com/a", null),
  sendAt: fc.constantFrom(new Date(Date.now() + 3_600_000).toISOString(), null),
  maxCredits: fc.constantFrom(10, null),
};

const post = (
  url: string,
  payload: string,
  headers: Record<string, string> = {},
): InjectOptions => ({
  method: "POST",
  url,
  payload,
  headers: { "x-api-key": api.key, "content-type": "application/json", ...headers },
});

const withBodies = [
  ["sendMessage", "/v1/messages"],
  ["sendBatch", "/v1/messages/batch"],
  ["previewMessage", "/v1/messages/preview"],
] as const;

for (const [name, url] of withBodies) {
  const schema = operations[name].body;
  const valid = arbitraryOf(schema, known);
  const request = (body: unknown) => post(url, JSON.stringify(body));

  test(`${name} accepts bodies that its schema allows, or names what is wrong with them`, async () => {
    await assertSound(name, valid.map(request), note);
  });

  test(`${name} refuses every body that its schema does not allow`, async () => {
    const wrong = fc.oneof(mutated(valid), hostile).map(request);
    await assertSound(name, wrong, (answer, { payload }) => {
      note(answer);
      const isAllowed = Schema.Check(schema, JSON.parse(payload as string));
      if (!isAllowed) assert.equal(answer.statusCode, 422, answer.body);
    });
  });

  test(`${name} parses any damaged JSON or refuses it`, async () => {
    const cut = fc
      .tuple(valid, fc.nat(200), fc.string({ unit: anyCharacter, maxLength: 5 }))
      .map(([body, at, junk]) => {
        const text = JSON.stringify(body);
        return post(url, text.slice(0, at) + junk + text.slice(at + 1));
      });
    await assertSound(name, cut, note);
  });

  test(`${name} copes with any headers`, async () => {
    const value = fc.string({
      unit: fc.constantFrom(..."aZ09 -_,;=\"'/%\t\u00ff"),
      maxLength: 300,
    });
    const names = ["x-api-key", "idempotency-key", "content-type", "content-encoding", "accept"];
    const more = ["expect", "x-forwarded-for", "host", "connection", "x-request-id", "cookie"];
    const headers = fc.dictionary(fc.constantFrom(...names, ...more), value, { maxKeys: 4 });
    const requests = fc
      .tuple(valid, headers)
      .map(([body, given]) => post(url, JSON.stringify(body), given));
    await assertSound(name, requests, note);
  });
}

const parameter = fc.oneof(
  fc.constantFrom(
    "limit",
    "cursor",
    "status",
    "recipient",
    "reference",
    "createdAfter",
    "createdBefore",
  ),
  fc.constantFrom("__proto__", "constructor", "a[b]", "limit[]"),
  fc.string(),
);
const parameterValue = fc.oneof(
  fc.constantFrom(
    "1",
    "100",
    "SENT",
    "4915112345678",
    "2026-11-15T09:30:00Z",
    "",
    "%zz",
    "%00",
    "%ff",
  ),
  hostile.map(escaped),
);

/** Escapes a value for a URL, in which half a character cannot be written. */
function escaped(value: fc.JsonValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return encodeURIComponent(text.toWellFormed());
}

test("listMessages accepts any query, or names what is wrong with it", async () => {
  const query = fc
    .array(fc.tuple(parameter, parameterValue), { maxLength: 5 })
    .map((pairs) =>
      pairs.map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${value}`).join("&"),
    );
  const requests = query.map((text): InjectOptions => ({
    method: "GET",
    url: `/v1/messages?${text}`,
    headers: { "x-api-key": api.key },
  }));
  await assertSound("listMessages", requests);
});

for (const name of ["retrieveMessage", "listMessageEvents", "cancelMessage"] as const) {
  test(`${name} copes with any id`, async () => {
    const { method, path } = operations[name];
    const id = fc.oneof(
      hostile.map((value) => escaped(value).slice(0, 8_000).replace(/%.?$/, "")),
      fc.uuid(),
      fc.constantFrom("%2e%2e", "..%2f..", "%00", "019a85c2-5b00-7abc-8def-0123456789a0%20"),
    );
    const requests = id.map((text): InjectOptions => ({
      method,
      url: path.replace("{messageId}", text),
      headers: { "x-api-key": api.key },
    }));
    await assertSound(name, requests, (answer) => assert.ok(answer.statusCode >= 400));
  });
}

test("no key that we did not create is ever accepted", async () => {
  const character = fc.constantFrom(
    ..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
  );
  const key = fc.oneof(
    fc.string({ maxLength: 100 }),
    fc.string({ unit: character, minLength: 36, maxLength: 36 }).map((secret) => `sms_${secret}`),
    fc.nat(39).map((at) => api.key.slice(0, at) + api.key.slice(at + 1)),
    fc.nat(39).map((at) => `${api.key.slice(0, at)}!${api.key.slice(at + 1)}`),
  );
  const requests = key.map((text): InjectOptions => ({
    method: "GET",
    url: "/v1/credits",
    headers: { "x-api-key": text },
  }));
  await assertSound("retrieveCredits", requests, (answer) => assert.equal(answer.statusCode, 401));
});

test("after all these requests, exactly what was accepted is stored and charged", async () => {
  const stored = await api.db.query<{ message_id: string; credits: number }>(sql`
    select message_id, credits from messages`);
  assert.deepEqual(
    new Set(stored.map(({ message_id }) => message_id)),
    acceptedIds,
    "a refused request left a message, or an accepted one is lost",
  );
  const [ledger] = await api.db.query(sql`
    select -sum(amount) as spent from ledger where kind = 'charge'`);
  const spent = [...acceptedCredits.values()].reduce((sum, credits) => sum + credits, 0);
  assert.deepEqual(ledger, { spent });
  assert.ok(acceptedIds.size > 100, "some requests were right");
  assert.deepEqual((await audit(api.db, { isDrained: false })).violations, []);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});
