import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleOperation, consoleOperations, memberRoles } from "#contract";
import { sql } from "#platform";
import { consoleOfFile, PASSWORD, type Person, type TestAccount } from "../support/console.ts";
import { held, somebodyWaits } from "../support/locks.ts";

/** They come last, because they end what the other calls need. */
const ENDINGS = ["leaveAccount", "signOut"];

const shared = consoleOfFile();

const declared = Object.entries<ConsoleOperation>(consoleOperations)
  // A stream never ends by itself; who may open one is tested with the streams.
  .filter(([, { success }]) => success.type !== "text/event-stream")
  .toSorted(([a], [b]) => ENDINGS.indexOf(a) - ENDINGS.indexOf(b));

type Persona =
  | "stranger"
  | "half signed in"
  | "outsider"
  | (typeof memberRoles)[number]
  | "operator";

/** The outcome that the contract prescribes; `passes` if the role is no obstacle. */
function expected({ access }: ConsoleOperation, persona: Persona): string {
  // By then there is an operator.
  if (access === "setup") return "404 ROUTE_NOT_FOUND";
  if (access === "public") return "passes";
  if (persona === "stranger") return "401 SESSION_REQUIRED";
  if (access === "pending") return "passes";
  if (persona === "half signed in") return "401 SECOND_FACTOR_REQUIRED";
  if (access === "user") return "passes";
  if (access === "operator") return persona === "operator" ? "passes" : "404 ROUTE_NOT_FOUND";
  if (persona === "outsider" || persona === "operator") return "404 ACCOUNT_NOT_FOUND";
  return memberRoles.indexOf(persona) >= memberRoles.indexOf(access) ? "passes" : "403 ROLE_DENIED";
}

const GATES = new Set([
  "SESSION_REQUIRED",
  "SECOND_FACTOR_REQUIRED",
  "ORIGIN_DENIED",
  "ROLE_DENIED",
  "ACCOUNT_NOT_FOUND",
  "ROUTE_NOT_FOUND",
]);

async function call(
  console: TestAccount,
  person: Person,
  operation: ConsoleOperation,
): Promise<string> {
  const { method, path, body } = operation;
  const filled = path
    .replace("{accountId}", console.accountId)
    .replaceAll(/\{\w+\}/g, "019a85c2-5b00-7abc-8def-0123456789ab");
  const answer = await person.call(method, filled, exampleOf(body));
  assert.notEqual(answer.statusCode, 500, `${method} ${path}: ${answer.body}`);
  const code = answer.statusCode >= 400 ? answer.json().error.code : "";
  return GATES.has(code) ? `${answer.statusCode} ${code}` : "passes";
}

function exampleOf(body: ConsoleOperation["body"]): unknown {
  const { examples = [{}] } = (body ?? {}) as { examples?: unknown[] };
  return body && examples[0];
}

async function personas(console: TestAccount): Promise<Record<Persona, Person>> {
  const outside = await console.createAccount();
  const half = await console.member("owner");
  // A second factor that nobody knows: sign-in stops half-way.
  await console.db.query(sql`update users set totp = '\\x00' where user_id = ${half.userId}`);
  await half.signIn();
  return {
    stranger: console.stranger(),
    "half signed in": half,
    outsider: await console.member("owner", { accountId: outside }),
    viewer: await console.member("viewer"),
    developer: await console.member("developer"),
    owner: await console.member("owner"),
    operator: await console.member("owner", { accountId: outside, isOperator: true }),
  };
}

test("every operation is open to exactly the roles that the contract names", async () => {
  const console = await shared.another();
  const everybody = await personas(console);

  for (const [persona, person] of Object.entries(everybody) as [Persona, Person][]) {
    for (const [name, operation] of declared) {
      // The person must stay signed in for the next call.
      if (operation.access === "public" && persona !== "stranger") continue;
      const found = await call(console, person, operation);
      assert.equal(found, expected(operation, persona), `${name} as ${persona}`);
    }
  }
});

test("a user who loses the role during a request is given nothing that would outlast it", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  await console.member("owner", { isOperator: true });
  const person = await console.member("owner", { isOperator: true });
  const { userId } = person;
  const [carrier] = await db.query<{ id: string }>(sql`select carrier_id as id from carriers`);
  const giving = declared.filter(([name, { access, proof }]) =>
    access === "user" ? false : proof || name === "removeMember",
  );
  assert.ok(giving.length >= 11);
  const audited = () => db.query(sql`select action from audit_log`);
  const before = await audited();

  for (const [name, { method, path, body, access }] of giving) {
    const filled = path
      .replace("{accountId}", accountId)
      .replace("{userId}", userId)
      .replace("{carrierId}", carrier?.id ?? "");
    const given = name === "updateCarrier" ? { version: 1, password: "x" } : exampleOf(body);
    const { asked } = await held(db, async (tx) => {
      await tx.query(sql`update memberships set role = 'viewer' where user_id = ${userId}`);
      await tx.query(sql`update users set is_operator = false where user_id = ${userId}`);
      const call = person.call(method, filled, given);
      await Promise.race([call, somebodyWaits(db)]);
      return { asked: call };
    });
    const refusal = access === "operator" ? "ROUTE_NOT_FOUND" : "ROLE_DENIED";
    assert.equal((await asked).json().error?.code, refusal, name);
    await db.query(sql`update memberships set role = 'owner' where user_id = ${userId}`);
    await db.query(sql`update users set is_operator = true where user_id = ${userId}`);
  }
  assert.deepEqual(await audited(), before);
});

test("a refusal is the same whether or not the requested object exists", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const outsider = await console.member("owner", { accountId: await console.createAccount() });
  const send = { recipient: "4915112345678", text: "Hello" };
  const { messageId } = (
    await owner.post(`/console/accounts/${console.accountId}/messages`, send)
  ).json();
  const told = async (path: string) => {
    const answer = await outsider.get(path);
    const { requestId: _requestId, ...error } = answer.json().error;
    return { status: answer.statusCode, error };
  };

  const there = await told(`/console/accounts/${console.accountId}/messages/${messageId}`);
  const away = await told(
    `/console/accounts/019a85c2-5b00-7abc-8def-0123456789ab/messages/${messageId}`,
  );
  assert.deepEqual(there, away);
  const rubbish = await told("/console/accounts/x/messages/y");
  assert.deepEqual(rubbish, away);
  assert.equal((await outsider.get("/console/nothing")).json().error.code, "ROUTE_NOT_FOUND");
});

test("an operator who is not a member cannot read an account's messages", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", {
    accountId: await console.createAccount(),
    isOperator: true,
  });

  const answer = await operator.get(`/console/accounts/${console.accountId}/messages`);
  assert.equal(answer.json().error.code, "ACCOUNT_NOT_FOUND");
  assert.equal((await operator.get("/console/operator/accounts")).statusCode, 200);
  assert.equal(operator.password, PASSWORD);
});
