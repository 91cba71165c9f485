import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, type Transaction } from "#platform";
import { withdrawResets } from "../../server/console/links.ts";
import { endSessionsOf, renewToken } from "../../server/console/sign-in/sessions.ts";
import { acceptedStep, codeOf } from "../../server/console/sign-in/totp.ts";
import { lockUser, setPassword } from "../../server/console/users.ts";
import { consoleOfFile, PASSWORD, type Person } from "../support/console.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { movableClock } from "../support/movable-clock.ts";

type Answer = Awaited<ReturnType<Person["get"]>>;

const ANOTHER = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA";

const clock = movableClock();
const shared = consoleOfFile({ clock });

/** The answer to a request whose input was already judged when the change is made. */
async function answerAfter(
  { userId, request }: { userId: string; request: () => Promise<Answer> },
  change: (tx: Transaction) => Promise<unknown>,
): Promise<Answer> {
  const { answer } = await held(shared.db, async (tx) => {
    await lockUser(tx, userId);
    const asked = request();
    await somebodyWaits(shared.db);
    await change(tx);
    return { answer: asked };
  });
  return answer;
}

/** What changing or resetting a password does. */
async function replacePassword(tx: Transaction, userId: string): Promise<void> {
  await setPassword(tx, userId, ANOTHER);
  await endSessionsOf(tx, userId);
}

async function passwordOf(userId: string): Promise<string | undefined> {
  const [user] = await shared.db.query<{ password: string }>(sql`
    select password from users where user_id = ${userId}`);
  return user?.password;
}

test("a sign-in that overlaps a password change opens no session", async () => {
  const console = await shared.another();
  const { email, userId } = await console.member("owner");
  const request = () =>
    console.stranger().post("/console/auth/sign-in", { email, password: PASSWORD });

  const answer = await answerAfter({ userId, request }, (tx) => replacePassword(tx, userId));

  assert.equal(answer.json().error.code, "SIGN_IN_FAILED");
  assert.deepEqual(
    await shared.db.query(sql`select session_id from sessions where user_id = ${userId}`),
    [],
  );
});

test("a sign-in that overlaps the enabling of a second factor must give it", async () => {
  const console = await shared.another();
  const { email, userId } = await console.member("owner");
  const guest = console.stranger();
  const request = () => guest.post("/console/auth/sign-in", { email, password: PASSWORD });

  const answer = await answerAfter({ userId, request }, (tx) =>
    tx.query(sql`update users set totp = ${Buffer.of(0)} where user_id = ${userId}`),
  );

  assert.deepEqual(answer.json(), { state: "second_factor_required" });
  assert.equal((await guest.get("/console/me")).json().error.code, "SECOND_FACTOR_REQUIRED");
});

test("a password change in a session that a reset ends meanwhile changes nothing", async () => {
  const console = await shared.another();
  const { userId, post } = await console.member("owner");
  const wish = { currentPassword: PASSWORD, newPassword: "purple canoe 17 window" };
  const request = () => post("/console/auth/password", wish);

  const answer = await answerAfter({ userId, request }, (tx) => replacePassword(tx, userId));

  assert.equal(answer.json().error.code, "SESSION_REQUIRED");
  assert.equal(await passwordOf(userId), ANOTHER);
});

test("the second of two concurrent password changes in one session is refused", async () => {
  const console = await shared.another();
  const { userId, post } = await console.member("owner");
  const wish = { currentPassword: PASSWORD, newPassword: "purple canoe 17 window" };
  const request = () => post("/console/auth/password", wish);

  const answer = await answerAfter({ userId, request }, (tx) => setPassword(tx, userId, ANOTHER));

  assert.equal(answer.json().error.code, "PROOF_FAILED");
  assert.equal(await passwordOf(userId), ANOTHER);
});

test("a request that marks a session as seen waits for a password change to end", async () => {
  const console = await shared.another();
  const { userId, get } = await console.member("owner");
  clock.advance(6 * 60_000);

  const answer = await answerAfter({ userId, request: () => get("/console/me") }, (tx) =>
    endSessionsOf(tx, userId),
  );

  assert.equal(answer.statusCode, 200, "it was found before");
});

test("a sign-in over an existing session waits for a password change to end", async () => {
  const console = await shared.another();
  const { userId, signIn } = await console.member("owner");

  const answer = await answerAfter({ userId, request: signIn }, (tx) => endSessionsOf(tx, userId));

  assert.deepEqual(answer.json(), { state: "signed_in" });
});

test("of two sessions that end all others at once, the first survives", async () => {
  const console = await shared.another();
  const first = await console.member("owner");
  const { userId, email } = first;
  const second = console.stranger();
  await second.post("/console/auth/sign-in", { email, password: PASSWORD });
  const sessions = (await first.get("/console/auth/sessions")).json().data;
  const { sessionId } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);

  const { answer } = await held(shared.db, async (tx) => {
    await lockUser(tx, userId);
    await renewToken(tx, { sessionId, tokenHash: Buffer.alloc(32) });
    const asked = second.post("/console/auth/sessions/end-others");
    await somebodyWaits(shared.db);
    await endSessionsOf(tx, userId, { except: sessionId });
    return { answer: asked };
  });

  assert.equal((await answer).json().error.code, "SESSION_REQUIRED");
  const left = await shared.db.query(
    sql`select session_id from sessions where user_id = ${userId}`,
  );
  assert.deepEqual(left, [{ session_id: sessionId }]);
});

test("the second of two concurrent password resets finds its link withdrawn", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const { userId } = await console.member("viewer");
  const made = await operator.post(`/console/operator/users/${userId}/reset-link`, {});
  const token = new URL(made.json().link).hash.replace("#token=", "");
  const wish = { token, password: "purple canoe 17 window" };
  const request = () => console.stranger().post("/console/links/reset", wish);

  const answer = await answerAfter({ userId, request }, async (tx) => {
    await withdrawResets(tx, { userId, now: clock.now() });
    await replacePassword(tx, userId);
  });

  assert.match(answer.json().error.details[0].message, /withdrawn/);
  assert.equal(await passwordOf(userId), ANOTHER);
});

/** Switches the second factor on and returns its seed; a new code may then be given. */
async function enrol({ post }: Person): Promise<string> {
  const { secret } = (await post("/console/auth/second-factor/enrol")).json();
  await post("/console/auth/second-factor/confirm", { code: codeOf(secret, clock.now()) });
  clock.advance(30_000);
  return secret;
}

for (const [name, path, isHalfWay] of [
  ["a second factor", "/console/auth/second-factor", true],
  ["a proof", "/console/proof", false],
] as const)
  test(`${name} given in a session that ends meanwhile is neither accepted nor recorded`, async () => {
    const console = await shared.another();
    const person = await console.member("owner");
    const { userId } = person;
    const secret = await enrol(person);
    if (isHalfWay) await person.signIn();
    const before = await auditOf(userId);
    const request = () => person.post(path, { code: codeOf(secret, clock.now()) });

    const answer = await answerAfter({ userId, request }, (tx) => endSessionsOf(tx, userId));

    assert.equal(answer.json().error.code, "SESSION_REQUIRED");
    assert.deepEqual(await auditOf(userId), before);
  });

test("recovery codes asked for in a session that ends meanwhile are not made", async () => {
  const console = await shared.another();
  const person = await console.member("owner");
  const { userId, post } = person;
  await enrol(person);
  const codes = () =>
    shared.db.query(sql`select hash from recovery_codes where user_id = ${userId} order by hash`);
  const before = await codes();
  const request = () => post("/console/auth/recovery-codes");

  const answer = await answerAfter({ userId, request }, (tx) => endSessionsOf(tx, userId));

  assert.equal(answer.json().error?.code, "SESSION_REQUIRED");
  assert.deepEqual(await codes(), before);
});

test("a session that ends meanwhile replaces no seed that waits for its first code", async () => {
  const console = await shared.another();
  const { userId, post } = await console.member("owner");
  const request = () => post("/console/auth/second-factor/enrol");

  const answer = await answerAfter({ userId, request }, (tx) => endSessionsOf(tx, userId));

  assert.equal(answer.json().error?.code, "SESSION_REQUIRED");
  assert.deepEqual(
    await shared.db.query(sql`select totp_pending from users where user_id = ${userId}`),
    [{ totp_pending: null }],
  );
});

function auditOf(userId: string): Promise<unknown[]> {
  return shared.db.query(sql`
    select action from audit_log where object_id = ${userId} order by audit_id`);
}

test("a code given twice at once is accepted once", async () => {
  const console = await shared.another();
  const person = await console.member("owner");
  const { userId, post } = person;
  const secret = await enrol(person);
  const now = clock.now();
  const code = codeOf(secret, now);
  const request = () => post("/console/proof", { code });

  const answer = await answerAfter({ userId, request }, (tx) => {
    const step = acceptedStep(code, { seed: secret, lastStep: 0, now });
    return tx.query(sql`update users set totp_step = ${step} where user_id = ${userId}`);
  });

  assert.equal(answer.json().error.code, "PROOF_FAILED");
});
