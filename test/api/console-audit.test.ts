import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleOperation, consoleOperations } from "#contract";
import { sql } from "#platform";
import { codeOf } from "../../server/console/sign-in/totp.ts";
import { PASSWORD, type Person, startConsole, type TestConsole } from "../support/console.ts";

type Call = { path?: Record<string, string>; query?: string; body?: unknown; by?: Person };
type Arrange = (world: World) => Call | Promise<Call>;
type World = { console: TestConsole; owner: Person; A: string };

const tokenOf = (link: string) => new URL(link).hash.replace("#token=", "");
const SIMULATOR = "01900000-0000-7000-8000-000000000001";

/** Makes each operation succeed once. Operations that end the caller's session come last. */
const ARRANGED: Record<string, Arrange> = {
  async createKey() {
    return { body: { name: "x", scopes: ["messages:send"] } };
  },
  async revokeKey({ owner, A }) {
    const { keyId } = (
      await owner.post(`${A}/keys`, { name: "x", scopes: ["messages:send"] })
    ).json();
    return { path: { keyId } };
  },
  composeMessage: () => ({ body: { recipient: "4915112345678", text: "x" } }),
  async cancelConsoleMessage({ owner, A }) {
    const { messageId } = (
      await owner.post(`${A}/messages`, { recipient: "4915112345678", text: "x" })
    ).json();
    return { path: { messageId } };
  },
  sendTestEvent: () => ({ body: { url: "http://127.0.0.1:65530/" } }),
  async replayDelivery(world) {
    return { path: { deliveryId: await failedDelivery(world) } };
  },
  async startReplay(world) {
    return { body: { deliveryIds: [await failedDelivery(world)] } };
  },
  async cancelReplay(world) {
    const { owner, A } = world;
    const body = { deliveryIds: [await failedDelivery(world)] };
    const { replayId } = (await owner.post(`${A}/replays`, body)).json();
    return { path: { replayId } };
  },
  revealSigningSecret: () => ({}),
  rotateSigningSecret: () => ({ body: { overlapHours: 1 } }),
  async updateAccount({ owner, A }) {
    return { body: { version: (await owner.get(A)).json().version, name: "Renamed" } };
  },
  async changeRole({ console }) {
    const { userId } = await console.member("viewer");
    return { path: { userId }, body: { role: "developer", version: 1 } };
  },
  async removeMember({ console }) {
    return { path: { userId: (await console.member("viewer")).userId } };
  },
  async leaveAccount({ console }) {
    return { by: await console.member("viewer") };
  },
  invite: () => ({ body: { role: "viewer" } }),
  async withdrawInvitation({ owner, A }) {
    const { invitation } = (await owner.post(`${A}/invitations`, { role: "viewer" })).json();
    return { path: { invitationId: invitation.invitationId } };
  },
  async joinAccount({ owner, A, console }) {
    const { link } = (await owner.post(`${A}/invitations`, { role: "viewer" })).json();
    const fields = { name: "Grace", email: "grace@example.com", password: PASSWORD };
    return { by: console.stranger(), body: { token: tokenOf(link), ...fields } };
  },
  async resetPassword({ owner, console }) {
    const { userId } = await console.member("viewer");
    const { link } = (await owner.post(`/console/operator/users/${userId}/reset-link`, {})).json();
    return {
      by: console.stranger(),
      body: { token: tokenOf(link), password: "purple canoe 17 window" },
    };
  },
  createAccount: () => ({ body: { name: "Other" } }),
  bookCredits: () => ({ body: { kind: "topup", amount: 5, note: "x", reference: "r" } }),
  async makeOwnerLink({ console }) {
    return { path: { accountId: await console.createAccount() } };
  },
  async makeResetLink({ console }) {
    return { path: { userId: (await console.member("viewer")).userId }, body: {} };
  },
  async updateCarrier({ owner }) {
    const { data } = (await owner.get("/console/operator/carriers")).json();
    return { path: { carrierId: SIMULATOR }, body: { version: data[0].version } };
  },
  testCarrier: () => ({ path: { carrierId: SIMULATOR } }),
  pauseCarrier: () => ({ path: { carrierId: SIMULATOR } }),
  resumeCarrier: () => ({ path: { carrierId: SIMULATOR } }),
  setRoute: () => ({ body: { prefix: "33", carrierIds: [SIMULATOR] } }),
  removeRoute: () => ({ query: "?prefix=33" }),
  setPrice: () => ({ body: { prefix: "33", credits: 2 } }),
  removePrice: () => ({ query: "?prefix=33" }),
  async updateMe({ owner }) {
    return { body: { version: (await owner.get("/console/me")).json().version, name: "Ada" } };
  },
  giveProof: () => ({ body: { password: PASSWORD } }),
  enrolSecondFactor: () => ({}),
  async confirmSecondFactor({ owner }) {
    const { secret } = (await owner.post("/console/auth/second-factor/enrol")).json();
    return { body: { code: codeOf(secret, new Date()) } };
  },
  renewRecoveryCodes: () => ({}),
  async giveSecondFactor({ owner, console }) {
    const { recoveryCodes } = (await owner.post("/console/auth/recovery-codes")).json();
    const by = console.stranger();
    await by.post("/console/auth/sign-in", { email: owner.email, password: PASSWORD });
    return { by, body: { code: recoveryCodes[0] } };
  },
  switchOffSecondFactor: () => ({}),
  changePassword: () => ({
    body: { currentPassword: PASSWORD, newPassword: "purple canoe 17 window" },
  }),
  signIn: ({ console, owner }) => ({
    by: console.stranger(),
    body: { email: owner.email, password: "purple canoe 17 window" },
  }),
  async endSession({ owner, console }) {
    const body = { email: owner.email, password: "purple canoe 17 window" };
    await console.stranger().post("/console/auth/sign-in", body);
    const { data } = (await owner.get("/console/auth/sessions")).json();
    return {
      path: { sessionId: data.find((each: { isCurrent: boolean }) => !each.isCurrent).sessionId },
    };
  },
  endOtherSessions: () => ({}),
  signOut: () => ({}),
};

/** Covered by the test of the setup, which needs an installation without an operator. */
const ELSEWHERE = new Set(["completeSetup"]);

/** A delivery that has ended, to a receiver that does not exist. */
async function failedDelivery({ console, owner, A }: World): Promise<string> {
  const body = { recipient: "4915112345678", text: "x", callbackUrl: "http://127.0.0.1:65530/" };
  const { messageId } = (await owner.post(`${A}/messages`, body)).json();
  const deliveryId = `${messageId.slice(0, -1)}2`;
  await console.db.query(sql`
    with noted as (
      insert into events (message_id, sequence, account_id, status, at, callback_url, body)
      values (${messageId}, 2, ${console.accountId}, 'SENT', now(), 'http://127.0.0.1:65530/', '{}')
    )
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, step, error_class, total_ms, ended)
    values (${console.accountId}, ${messageId}, 2, 7, now(), 6, 'connect_refused', 1, 'exhausted')`);
  return deliveryId;
}

test("every operation that changes something leaves exactly one audit row, without secrets", async () => {
  await using console = await startConsole();
  const owner = await console.member("owner", { isOperator: true });
  const world = { console, owner, A: `/console/accounts/${console.accountId}` };
  const audited = Object.entries<ConsoleOperation>(consoleOperations)
    .filter(([name, { audit }]) => audit !== undefined && !ELSEWHERE.has(name))
    .map(([name]) => name);
  assert.deepEqual(Object.keys(ARRANGED).toSorted(), audited.toSorted(), "each is arranged");

  for (const [name, arrange] of Object.entries(ARRANGED)) {
    const operation = (consoleOperations as Record<string, ConsoleOperation>)[
      name
    ] as ConsoleOperation;
    const { path = {}, query = "", body, by = owner } = await arrange(world);
    const filled = operation.path.replaceAll(
      /\{(\w+)\}/g,
      (_all, parameter: string) =>
        path[parameter] ?? (parameter === "accountId" ? console.accountId : ""),
    );
    const answer = await by.call(operation.method, filled + query, body);
    assert.ok(answer.statusCode < 300, `${name}: ${answer.statusCode} ${answer.body}`);
    const rows = await console.db.query(sql`
      select action, address from audit_log where request_id = ${String(answer.headers["x-request-id"])}`);
    assert.deepEqual(rows, [{ action: operation.audit, address: "127.0.0.1" }], name);
  }

  const [kept] = await console.db.query<{ everything: string }>(sql`
    select query_to_xml('select * from audit_log', true, true, '')::text as everything`);
  for (const secret of [PASSWORD, "purple canoe", "whsec_", "argon2"])
    assert.equal(kept?.everything.includes(secret), false, secret);
  assert.equal(/sms_[0-9A-Za-z]{36}/.test(kept?.everything ?? ""), false);
});
