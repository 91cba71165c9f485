import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { lockAccounts } from "#accounts";
import { setOperator } from "#console";
import { memberRoles } from "#contract";
import { sql } from "#platform";
import { lockMembers, removeMember } from "../../server/console/members.ts";
import { codeOf } from "../../server/console/sign-in/totp.ts";
import {
  PASSWORD,
  type Person,
  startConsole,
  type TestAccount,
  type TestConsole,
} from "../support/console.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { movableClock } from "../support/movable-clock.ts";
import { assertSound } from "../support/sound.ts";

const HOUR = 3_600_000;

const tokenOf = (link: string) => new URL(link).hash.replace("#token=", "");
const detailOf = (answer: { json(): { error: { details: { message: string }[] } } }) =>
  answer.json().error.details[0]?.message ?? "";

const OPERATOR = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  password: PASSWORD,
  accountName: "Example",
};

const clock = movableClock();
let shared: TestConsole;
before(async () => {
  shared = await startConsole({ clock });
});
after(async () => {
  // Whatever happened to members below, the audit log must lead to each one's role.
  await assertSound(shared.db, ["I16"]);
  await shared[Symbol.asyncDispose]();
});

test("set-up reports a wrong or old link or one for something else, a weak password and a taken e-mail; the link of a restart works", async () => {
  await using console = await startConsole({ clock });
  const printedToken = async () => tokenOf((await console.service.setupLink()) ?? "");
  const attempt = (token: string, fields: object = {}) =>
    console.stranger().post("/console/setup", { token, ...OPERATOR, ...fields });
  const first = await printedToken();

  const wrong = await attempt(`${first.slice(0, -2)}xx`);
  assert.equal(wrong.json().error.code, "LINK_INVALID");
  const weak = await attempt(first, { password: "short", email: "no address" });
  assert.deepEqual(
    weak.json().error.details.map(({ field }: { field: string }) => field),
    ["email", "password"],
  );
  clock.advance(25 * HOUR);
  assert.match(detailOf(await attempt(first)), /has expired/);
  assert.deepEqual(await console.db.query(sql`select user_id from users`), []);
  // A restart prints another link.
  const token = await printedToken();
  const { email } = await console.member("owner");
  const { code, details } = (await attempt(token, { email })).json().error;
  assert.deepEqual([code, details[0]?.field], ["EMAIL_TAKEN", "email"]);
  const owner = await console.member("owner");
  const invited = await owner.post(`/console/accounts/${console.accountId}/invitations`, {
    role: "viewer",
  });
  assert.match(detailOf(await attempt(tokenOf(invited.json().link))), /is unknown/);
  assert.equal((await attempt(token)).statusCode, 201);
});

test("making a user the first operator closes set-up", async () => {
  await using console = await startConsole();
  const token = tokenOf((await console.service.setupLink()) ?? "");
  const { email } = await console.member("owner");

  const by = { actor: "cli", now: new Date() };
  const { outcome } = await setOperator(console.db, { email, isOperator: true, ...by });

  const attempt = await console.stranger().post("/console/setup", { token, ...OPERATOR });
  assert.deepEqual([outcome, attempt.json().error?.code], ["changed", "ROUTE_NOT_FOUND"]);
  assert.equal(await console.service.setupLink(), undefined);
});

test("of fifty concurrent set-ups one becomes the operator, and set-up is closed for good", async () => {
  await using console = await startConsole();
  const token = tokenOf((await console.service.setupLink()) ?? "");
  assert.equal((await console.stranger().get("/console/setup")).statusCode, 200);
  const read = await console.stranger().post("/console/links/read", { token });
  assert.equal(read.json().kind, "setup");

  const people = Array.from({ length: 50 }, () => console.stranger());
  const answers = await Promise.all(
    people.map((each) => each.post("/console/setup", { token, ...OPERATOR })),
  );

  const won = people.filter((_each, n) => answers[n]?.statusCode === 201);
  assert.equal(won.length, 1);
  // More passwords than may wait to be hashed: the excess is told to retry.
  assert.ok(answers.every(({ statusCode }) => [201, 404, 503].includes(statusCode)));
  const me = (await (won[0] as Person).get("/console/me")).json();
  assert.equal(me.isOperator, true);
  assert.deepEqual(
    me.accounts.map(({ name, role, balance }: Record<string, unknown>) => ({
      name,
      role,
      balance,
    })),
    [{ name: "Example", role: "owner", balance: 1000 }],
  );
  const users = await console.db.query(sql`select email from users`);
  assert.deepEqual(users, [{ email: "ada@example.com" }]);
  assert.equal((await console.stranger().get("/console/setup")).statusCode, 404);
  assert.equal((await console.stranger().post("/console/setup", {})).statusCode, 404);
  assert.equal(await console.service.setupLink(), undefined);
  await assertSound(console.db, ["I16"]);
});

test("an invitation works once, with its role, for a new user and for a signed-in one", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const invite = async (role: string, more: object = {}) =>
    (await owner.post(`${A}/invitations`, { role, ...more })).json();

  const turned = await owner.post(`${A}/invitations`, { role: "owner", forWhom: "\u202eecarG" });
  assert.equal(turned.statusCode, 422);
  const { link, invitation } = await invite("developer", { forWhom: " Grace, night shift " });
  assert.equal(invitation.forWhom, "Grace, night shift");
  assert.match(link, /^http:\/\/posthorn\.test\/join#token=[\w-]{43}$/);
  assert.deepEqual((await owner.get(`${A}/invitations`)).json().data, [invitation]);
  const guest = console.stranger();
  const read = (await guest.post("/console/links/read", { token: tokenOf(link) })).json();
  assert.partialDeepStrictEqual(read, {
    kind: "invitation",
    inviter: "owner 1",
    accountName: "Example",
    role: "developer",
    forWhom: "Grace, night shift",
  });
  const missing = await guest.post("/console/links/join", { token: tokenOf(link) });
  assert.equal(missing.statusCode, 422);
  const fields = { name: "Grace", email: "grace@example.com", password: PASSWORD };
  const joined = await guest.post("/console/links/join", { token: tokenOf(link), ...fields });
  assert.deepEqual(joined.json(), { accountId: console.accountId });
  assert.equal((await guest.get(A)).json().role, "developer");
  const again = await console
    .stranger()
    .post("/console/links/join", { token: tokenOf(link), ...fields, email: "x@example.com" });
  assert.match(detailOf(again), /already been used/);
  assert.deepEqual((await owner.get(`${A}/invitations`)).json().data, []);

  const second = await invite("viewer");
  const taken = await console
    .stranger()
    .post("/console/links/join", { token: tokenOf(second.link), ...fields });
  assert.equal(taken.json().error.code, "EMAIL_TAKEN");
  const member = await console.member("owner", { accountId: await console.createAccount() });
  assert.equal(
    (await member.post("/console/links/join", { token: tokenOf(second.link) })).statusCode,
    200,
  );
  assert.equal((await member.get(A)).json().role, "viewer");

  const kept = await console.db.query<{ everything: string }>(sql`
    select query_to_xml('select * from links', true, true, '')::text
        || query_to_xml('select * from audit_log', true, true, '')::text as everything`);
  assert.equal(kept[0]?.everything.includes(tokenOf(link)), false);
});

test("a member who opens an invitation keeps their role and does not use the invitation up", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const { link } = (await owner.post(`${A}/invitations`, { role: "owner" })).json();
  const token = tokenOf(link);

  const refused = await developer.post("/console/links/join", { token });
  const fields = { name: "Joan", email: "joan@example.com", password: PASSWORD };
  const joined = await console.stranger().post("/console/links/join", { token, ...fields });

  assert.equal(refused.json().error.code, "MEMBER_ALREADY");
  assert.equal((await developer.get(A)).json().role, "developer");
  assert.equal(joined.statusCode, 200);
});

test("a withdrawn or expired link says so", async () => {
  const console = await shared.another();
  const owner = await console.member("owner", { isOperator: true });
  const A = `/console/accounts/${console.accountId}`;
  const invite = async () => (await owner.post(`${A}/invitations`, { role: "viewer" })).json();
  const read = async (link: string) =>
    detailOf(await console.stranger().post("/console/links/read", { token: tokenOf(link) }));

  const [withdrawn, late] = [await invite(), await invite()];
  const reset = await owner.post(`/console/operator/users/${owner.userId}/reset-link`, {});
  const path = `${A}/invitations/${withdrawn.invitation.invitationId}`;
  assert.equal((await owner.call("DELETE", path)).statusCode, 204);
  assert.equal((await owner.call("DELETE", path)).json().error.code, "INVITATION_NOT_FOUND");
  assert.match(await read(withdrawn.link), /withdrawn/);
  clock.advance(48 * HOUR + 1_000);
  for (const { link } of [late, reset.json()]) assert.match(await read(link), /has expired/);
  await owner.signIn();
  assert.deepEqual((await owner.get(`${A}/invitations`)).json().data, []);
  assert.match(await read("http://x/#token=made-up"), /is unknown/);
});

test("an invitation form submitted twice creates one link and shows it once", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const press = () =>
    owner.post(`${A}/invitations`, { role: "viewer" }, { "idempotency-key": "f" });

  assert.equal((await press()).statusCode, 201);
  assert.equal((await press()).json().error.code, "LINK_ALREADY_MADE");
  assert.equal((await owner.get(`${A}/invitations`)).json().data.length, 1);
});

test("a removed member's next request is refused, and so is one whose role changed", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const [gone, demoted] = [await console.member("developer"), await console.member("developer")];
  const A = `/console/accounts/${console.accountId}`;
  const { data } = (await owner.get(`${A}/members`)).json();
  const versionOf = (person: Person) =>
    data.find(({ userId }: { userId: string }) => userId === person.userId).version;

  assert.equal((await owner.call("DELETE", `${A}/members/${gone.userId}`)).statusCode, 204);
  assert.equal((await gone.get(`${A}/messages`)).json().error.code, "SESSION_REQUIRED");
  await gone.signIn();
  assert.equal((await gone.get(`${A}/messages`)).json().error.code, "ACCOUNT_NOT_FOUND");

  const change = { role: "viewer", version: versionOf(demoted) };
  const changed = await owner.call("PATCH", `${A}/members/${demoted.userId}`, change);
  assert.partialDeepStrictEqual(changed.json(), { role: "viewer", version: 2 });
  assert.equal((await demoted.get(A)).statusCode, 401, "a new session for the new role");
  const late = await owner.call("PATCH", `${A}/members/${demoted.userId}`, change);
  assert.equal(late.json().error.code, "VERSION_CONFLICT");
});

test("two owners who demote each other at once leave one owner, and the last owner stays", async () => {
  const console = await shared.another();
  const [one, two] = [await console.member("owner"), await console.member("owner")];
  const A = `/console/accounts/${console.accountId}`;
  const demote = (by: Person, whom: Person) =>
    by.call("PATCH", `${A}/members/${whom.userId}`, { role: "viewer", version: 1 });

  const answers = await Promise.all([demote(one, two), demote(two, one)]);

  assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
  const owners = await console.db.query<{ user_id: string }>(sql`
    select user_id from memberships where role = 'owner' and account_id = ${console.accountId}`);
  assert.equal(owners.length, 1);
  const last = owners[0]?.user_id === one.userId ? one : two;
  await last.signIn();
  for (const answer of [
    await last.call("PATCH", `${A}/members/${last.userId}`, { role: "viewer", version: 1 }),
    await last.call("DELETE", `${A}/members/${last.userId}`),
    await last.post(`${A}/leave`),
  ])
    assert.equal(answer.json().error.code, "LAST_OWNER");
});

function fillWithMembers({ db, accountId }: TestAccount, count: number): Promise<unknown> {
  return db.query(sql`
    with made as (
      insert into users (user_id, email, name, password, created_at)
      select gen_random_uuid(), gen_random_uuid() || '@many.example.com', 'One of many', '', '2020-01-01'
        from generate_series(1, ${count}::int)
      returning user_id
    )
    insert into memberships (account_id, user_id, role, joined_at)
    select ${accountId}, user_id, 'viewer', '2020-01-01' from made`);
}

/** Removes members of whom the audit log has no record. */
function forgetThem({ db, accountId }: TestAccount): Promise<unknown> {
  return db.query(sql`
    delete from memberships where account_id = ${accountId} and joined_at < '2021-01-01'`);
}

/** Pages through a list and back; returns the ids in order. */
async function walk(person: Person, path: string, id: string): Promise<string[]> {
  const read = async (cursor: string) =>
    (await person.get(`${path}?limit=100${cursor && `&cursor=${cursor}`}`)).json();
  const pages = [await read("")];
  for (let page = pages[0]; page.nextCursor; pages.push(page)) page = await read(page.nextCursor);
  const before = await read(pages.at(-1).previousCursor);
  assert.deepEqual(before.data, pages.at(-2).data);
  return pages.flatMap(({ data }) => data.map((row: Record<string, string>) => row[id]));
}

test("all members and open invitations are listed, however many, and the owners are counted", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const owner = await console.member("owner");
  const A = `/console/accounts/${accountId}`;
  await fillWithMembers(console, 1100);
  await db.query(sql`
    insert into links (link_id, kind, token_hash, created_at, created_by, expires_at, account_id, role)
    select gen_random_uuid(), 'invitation', sha256(gen_random_uuid()::text::bytea), ${clock.now()}, 'cli',
           ${new Date(clock.now().getTime() + HOUR)}, ${accountId}, 'viewer' from generate_series(1, 600)`);

  const [members, invitations] = [
    await walk(owner, `${A}/members`, "userId"),
    await walk(owner, `${A}/invitations`, "invitationId"),
  ];
  assert.deepEqual([new Set(members).size, members.length], [1101, 1101]);
  assert.deepEqual([new Set(invitations).size, invitations.length], [600, 600]);
  const { totalCount, ownerCount } = (await owner.get(`${A}/members`)).json();
  assert.deepEqual([totalCount, ownerCount], [1101, 1]);
  const { nextCursor } = (await owner.get(`${A}/invitations`)).json();
  const foreign = (await owner.get(`${A}/members?cursor=${nextCursor}`)).json();
  assert.equal(foreign.error.code, "CURSOR_INVALID");
  await forgetThem(console);
});

test("changing a role works and answers as usual in an account of a thousand members", async () => {
  const console = await shared.another();
  const { accountId } = console;
  const [owner, late] = [await console.member("owner"), await console.member("developer")];
  await fillWithMembers(console, 1000);

  const path = `/console/accounts/${accountId}/members/${late.userId}`;
  const changed = await owner.call("PATCH", path, { role: "viewer", version: 1 });
  await forgetThem(console);

  assert.equal(changed.statusCode, 200);
  assert.partialDeepStrictEqual(changed.json(), { userId: late.userId, role: "viewer" });
});

test("an owner who gives up the role gets a new token, and their other sessions end", async () => {
  const console = await shared.another();
  await console.member("owner");
  const owner = await console.member("owner");
  const elsewhere = console.stranger();
  await elsewhere.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
  const old = console.stranger();
  old.cookie = owner.cookie;
  const A = `/console/accounts/${console.accountId}`;

  const changed = await owner.call("PATCH", `${A}/members/${owner.userId}`, {
    role: "viewer",
    version: 1,
  });

  assert.equal(changed.statusCode, 200);
  assert.equal((await owner.get(A)).json().role, "viewer");
  assert.equal((await old.get(A)).statusCode, 401, "the old token is worth nothing");
  assert.equal((await elsewhere.get(A)).statusCode, 401);
});

test("removing an owner, or their leaving, withdraws their open invitations and no others", async () => {
  const console = await shared.another();
  const [keeper, removed, leaver] = [
    await console.member("owner"),
    await console.member("owner"),
    await console.member("owner"),
  ];
  const A = `/console/accounts/${console.accountId}`;
  const invite = async ({ post }: Person) =>
    tokenOf((await post(`${A}/invitations`, { role: "owner" })).json().link);
  const [kept, first, second] = [await invite(keeper), await invite(removed), await invite(leaver)];

  assert.equal((await keeper.call("DELETE", `${A}/members/${removed.userId}`)).statusCode, 204);
  assert.equal((await leaver.post(`${A}/leave`)).statusCode, 204);

  await removed.signIn();
  const join = (person: Person, token: string) => person.post("/console/links/join", { token });
  assert.match(detailOf(await join(removed, first)), /withdrawn/);
  assert.match(detailOf(await join(leaver, second)), /withdrawn/);
  assert.equal((await join(leaver, kept)).statusCode, 200);
});

test("demoting an owner withdraws their open invitations; keeping the role keeps them", async () => {
  const console = await shared.another();
  const [keeper, demoted] = [await console.member("owner"), await console.member("owner")];
  const A = `/console/accounts/${console.accountId}`;
  for (const role of memberRoles) await demoted.post(`${A}/invitations`, { role });

  const change = async (body: object) => {
    await keeper.call("PATCH", `${A}/members/${demoted.userId}`, body);
    return (await keeper.get(`${A}/invitations`)).json().data.length;
  };
  assert.equal(await change({ role: "owner", version: 1 }), memberRoles.length);
  assert.equal(await change({ role: "developer", version: 2 }), 0);

  const [entry] = await console.db.query<{ details: object }>(sql`
    select details from audit_log where action = 'member.role_changed' and account_id = ${console.accountId}
     order by audit_id desc`);
  const told = { before: "owner", after: "developer", withdrawnInvitations: memberRoles.length };
  assert.deepEqual(entry?.details, told);
});

test("a member removed while joining by their own link finds it withdrawn", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  await console.member("owner");
  const { userId, post } = await console.member("owner");
  const made = await post(`/console/accounts/${accountId}/invitations`, { role: "owner" });
  const token = tokenOf(made.json().link);

  const { answer } = await held(db, async (tx) => {
    await lockMembers(tx, accountId);
    const asked = post("/console/links/join", { token });
    await somebodyWaits(db);
    await removeMember(tx, { accountId, userId, now: new Date() });
    return { answer: asked };
  });

  assert.match(detailOf(await answer), /withdrawn/);
});

test("a member may leave, and then has no access to the account", async () => {
  const console = await shared.another();
  await console.member("owner");
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;

  assert.equal((await viewer.post(`${A}/leave`)).statusCode, 204);
  assert.equal((await viewer.get(A)).json().error.code, "ACCOUNT_NOT_FOUND");
  assert.deepEqual((await viewer.get("/console/me")).json().accounts, []);
});

test("joining or leaving an account ends the user's other sessions", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const { link } = (await owner.post(`${A}/invitations`, { role: "viewer" })).json();
  const guest = await console.member("owner", { accountId: await console.createAccount() });
  const isElsewhereAfter = async (change: () => ReturnType<Person["post"]>) => {
    const elsewhere = console.stranger();
    const { email, password } = guest;
    await elsewhere.post("/console/auth/sign-in", { email, password });
    assert.ok((await change()).statusCode < 300);
    assert.equal((await guest.get("/console/me")).statusCode, 200);
    return (await elsewhere.get("/console/me")).statusCode === 200;
  };

  const join = () => guest.post("/console/links/join", { token: tokenOf(link) });
  assert.equal(await isElsewhereAfter(join), false);
  assert.equal(await isElsewhereAfter(() => guest.post(`${A}/leave`)), false);
});

test("a user who has not yet given the second factor cannot join an account", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const { link } = (await owner.post(`${A}/invitations`, { role: "owner" })).json();
  const guest = await console.member("owner", { accountId: await console.createAccount() });
  const { secret } = (await guest.post("/console/auth/second-factor/enrol")).json();
  const code = codeOf(secret, clock.now());
  await guest.post("/console/auth/second-factor/confirm", { code });
  assert.deepEqual((await guest.signIn()).json(), { state: "second_factor_required" });

  const joined = await guest.post("/console/links/join", { token: tokenOf(link) });

  assert.equal(
    joined.json().error.code,
    "VALIDATION_FAILED",
    "as a stranger, who has yet to say who",
  );
  assert.equal((await owner.get(`${A}/members`)).json().data.length, 1);
});

test("only one of two changes from the same version of the settings succeeds; the next send uses the default sender", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;

  const changed = await owner.call("PATCH", A, {
    version: 1,
    name: "Shop",
    defaultSender: "Shop",
    lowCredits: 5,
  });
  assert.partialDeepStrictEqual(changed.json(), {
    name: "Shop",
    defaultSender: "Shop",
    lowCredits: 5,
    version: 2,
  });
  const late = await owner.call("PATCH", A, { version: 1, name: "Other" });
  assert.equal(late.json().error.code, "VERSION_CONFLICT");
  const wrong = await owner.call("PATCH", A, { version: 2, defaultSender: "much too long for it" });
  assert.deepEqual(wrong.json().error.details[0].field, "defaultSender");
  const sent = await owner.post(`${A}/messages`, { recipient: "4915112345678", text: "Hello" });
  assert.equal(sent.json().sender, "Shop");
  const none = await owner.call("PATCH", A, { version: 2, defaultSender: null });
  assert.equal(none.json().defaultSender, null);

  // Both have read version 3 before either can write.
  const { both } = await held(console.db, async (tx) => {
    await lockAccounts(tx, [console.accountId]);
    const asked = ["One", "Two"].map((name) => owner.call("PATCH", A, { version: 3, name }));
    await somebodyWaits(console.db, 2);
    return { both: Promise.all(asked) };
  });
  const statuses = (await both).map(({ statusCode }) => statusCode);
  assert.deepEqual(new Set(statuses), new Set([200, 409]));
});

test("a reset link sets a new password once and ends every session of that user", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const viewer = await console.member("viewer");
  const path = `/console/operator/users/${viewer.userId}/reset-link`;
  const { link } = (await operator.post(path, {})).json();
  const reset = (password: string) =>
    console.stranger().post("/console/links/reset", { token: tokenOf(link), password });

  assert.equal((await reset("password1234")).statusCode, 422);
  assert.equal((await viewer.get("/console/me")).statusCode, 200);
  assert.equal((await reset("purple canoe 17 window")).statusCode, 204);
  assert.equal((await viewer.get("/console/me")).statusCode, 401);
  assert.match(detailOf(await reset("purple canoe 17 window")), /already been used/);
  viewer.password = "purple canoe 17 window";
  assert.equal((await viewer.signIn()).statusCode, 200);
  const nobody = "/console/operator/users/019a85c2-5b00-7abc-8def-0123456789ab/reset-link";
  assert.equal((await operator.post(nobody, {})).json().error.code, "USER_NOT_FOUND");
});

test("a reset link ends the wait caused by wrong passwords", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const viewer = await console.member("viewer");
  const guess = { email: viewer.email, password: "wrong password" };
  for (let n = 0; n < 5; n += 1) await console.stranger().post("/console/auth/sign-in", guess);
  assert.equal((await viewer.signIn()).statusCode, 429);
  const path = `/console/operator/users/${viewer.userId}/reset-link`;
  const token = tokenOf((await operator.post(path, {})).json().link);

  viewer.password = "purple canoe 17 window";
  const wish = { token, password: viewer.password };
  assert.equal((await console.stranger().post("/console/links/reset", wish)).statusCode, 204);

  assert.equal((await viewer.signIn()).statusCode, 200);
});

test("a user who lost the second factor gets in only by a link made to switch it off", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const viewer = await console.member("viewer");
  const { secret } = (await viewer.post("/console/auth/second-factor/enrol")).json();
  const code = codeOf(secret, clock.now());
  await viewer.post("/console/auth/second-factor/confirm", { code });
  const path = `/console/operator/users/${viewer.userId}/reset-link`;
  viewer.password = "purple canoe 17 window";
  const use = async (wish: object) => {
    const token = tokenOf((await operator.post(path, wish)).json().link);
    const read = await console.stranger().post("/console/links/read", { token });
    await console.stranger().post("/console/links/reset", { token, password: viewer.password });
    const { state } = (await viewer.signIn()).json();
    return [read.json().dropsSecondFactor, state];
  };

  assert.deepEqual(await use({}), [false, "second_factor_required"]);
  assert.deepEqual(await use({ dropSecondFactor: true }), [true, "signed_in"]);
  const me = (await viewer.get("/console/me")).json();
  assert.deepEqual([me.hasSecondFactor, me.recoveryCodesLeft], [false, 0]);
  const told = await console.db.query(sql`
    select action, details from audit_log where details ? 'dropsSecondFactor' order by audit_id desc limit 2`);
  const details = { dropsSecondFactor: true };
  assert.deepEqual(told, [
    { action: "user.password_reset", details },
    { action: "user.reset_link_made", details },
  ]);
});

test("an account without an owner gets a new owner link, which withdraws the old and works once; others do not", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const made = (await operator.post("/console/operator/accounts", { name: "Late" })).json();
  const path = `/console/operator/accounts/${made.account.accountId}/owner-link`;
  const { link } = (await operator.post(path)).json();
  const join = (link: string, email: string) => {
    const fields = { token: tokenOf(link), name: "Grace", email, password: PASSWORD };
    return console.stranger().post("/console/links/join", fields);
  };

  assert.match(detailOf(await join(made.link, "late@example.com")), /withdrawn/);
  // Of two at once, one joins; there is no member yet whose lock they could wait for.
  const { both } = await held(console.db, async (tx) => {
    await tx.query(sql`select from links for update`);
    const asked = ["late@example.com", "later@example.com"].map((email) => join(link, email));
    await somebodyWaits(console.db, 2);
    return { both: Promise.all(asked) };
  });
  const statuses = (await both).map(({ statusCode }) => statusCode);
  assert.deepEqual(new Set(statuses), new Set([200, 404]));
  assert.equal((await operator.post(path)).json().error.code, "ACCOUNT_HAS_OWNER");
  const unknown = path.replace(made.account.accountId, "019a85c2-5b00-7abc-8def-0123456789ab");
  assert.equal((await operator.post(unknown)).json().error.code, "ACCOUNT_NOT_FOUND");
});

test("of two owner links made at once for an account only the newer one is open", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const { account } = (await operator.post("/console/operator/accounts", { name: "Twice" })).json();
  const path = `/console/operator/accounts/${account.accountId}/owner-link`;

  // Both ask while the first link is still open, and neither can withdraw it yet.
  const { both } = await held(console.db, async (tx) => {
    await tx.query(sql`select from links where account_id = ${account.accountId} for update`);
    const asked = [operator.post(path), operator.post(path)];
    await somebodyWaits(console.db, 2);
    return { both: Promise.all(asked) };
  });

  assert.deepEqual(
    (await both).map(({ statusCode }) => statusCode),
    [201, 201],
  );
  const open = await console.db.query(sql`
    select link_id from links where account_id = ${account.accountId} and withdrawn_at is null`);
  assert.equal(open.length, 1);
});

test("setting a new password, by a link or in the profile, withdraws all other reset links", async () => {
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  const viewer = await console.member("viewer");
  const path = `/console/operator/users/${viewer.userId}/reset-link`;
  const makeToken = async () => tokenOf((await operator.post(path, {})).json().link);
  const reset = (token: string, password: string) =>
    console.stranger().post("/console/links/reset", { token, password });
  const [older, newer] = [await makeToken(), await makeToken()];

  assert.equal((await reset(newer, "purple canoe 17 window")).statusCode, 204);
  assert.match(detailOf(await reset(older, PASSWORD)), /withdrawn/);

  viewer.password = "purple canoe 17 window";
  await viewer.signIn();
  const unused = await makeToken();
  const wish = { currentPassword: viewer.password, newPassword: "amber kettle 53 bridge" };
  assert.equal((await viewer.post("/console/auth/password", wish)).statusCode, 204);
  assert.match(detailOf(await reset(unused, PASSWORD)), /withdrawn/);
});

test("a name and preferences are stored with their version", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");

  const changed = await owner.call("PATCH", "/console/me", {
    version: 1,
    name: "Ada",
    preferences: { theme: "dark" },
  });
  assert.partialDeepStrictEqual(changed.json(), {
    name: "Ada",
    version: 2,
    preferences: { theme: "dark", zone: "browser", shortcuts: true },
  });
  const zone = { version: 2, preferences: { zone: "utc" } };
  const { preferences } = (await owner.call("PATCH", "/console/me", zone)).json();
  assert.deepEqual(preferences, { theme: "dark", zone: "utc", shortcuts: true });
  const late = await owner.call("PATCH", "/console/me", { version: 1, name: "Eve" });
  assert.equal(late.json().error.code, "VERSION_CONFLICT");
  const turned = await owner.call("PATCH", "/console/me", { version: 3, name: "Ada\u202eEve" });
  assert.match(detailOf(turned), /must not hold characters that change the direction/);
});
