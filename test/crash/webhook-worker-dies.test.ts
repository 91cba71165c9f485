import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TLSSocket } from "node:tls";
import { eventId } from "#messages";
import { sql } from "#platform";
import { makeAuthority } from "../support/certificates.ts";
import { held } from "../support/locks.ts";
import { patient } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { onRequests, startRawServer } from "../support/raw-server.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { assertSound } from "../support/sound.ts";
import { until } from "../support/until.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

const MESSAGES = 4;

function startWorker(
  { db }: WebhookWorld,
  settings: Record<string, string> = {},
): Promise<ServiceProcess> {
  return startService(db.url, { ROLES: "webhooks", ...settings });
}

async function kill(worker: ServiceProcess): Promise<void> {
  worker.kill("SIGKILL");
  await worker.exited;
}

/** A second worker takes over what the first left behind, once its leases have run out. */
async function takeOver(
  world: WebhookWorld,
  options?: Parameters<WebhookWorld["worker"]>[0],
): Promise<void> {
  await world.expireLeases();
  await using _second = world.worker(options);
  await world.left(0);
}

/** Every event ended once, as delivered, and no attempt number was used twice. */
async function assertWhole(world: WebhookWorld, messageIds: string[]): Promise<void> {
  const attempts = await world.attempts();
  for (const messageId of messageIds) {
    const own = attempts.filter(({ message_id }) => message_id === messageId);
    assert.deepEqual(
      own.map(({ attempt }) => attempt),
      own.map((_, position) => position + 1),
    );
    const ended = own.flatMap((each) => (each.ended === null ? [] : [each.ended]));
    assert.deepEqual(ended, ["delivered"]);
  }
  await webhooksAreSound(world);
}

/** These messages were never accepted or sent: only the rules about webhooks can hold. */
function webhooksAreSound({ db }: WebhookWorld): Promise<void> {
  return assertSound(db, ["I10", "I11", "I14"]);
}

/** The receiver saw every event, and repetitions were identical. */
function assertSeen({ received }: Receiver, messageIds: string[]): void {
  const seen = Map.groupBy(received, ({ headers }) => headers["webhook-id"] ?? "");
  assert.deepEqual(
    [...seen.keys()].toSorted(),
    messageIds.map((messageId) => eventId(messageId, 2)).toSorted(),
  );
  for (const same of seen.values())
    assert.equal(new Set(same.map(({ body }) => body.toString("hex"))).size, 1);
}

test("webhooks committed while no worker ran are delivered when one starts", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const messageIds = await world.sent(MESSAGES, { url: receiver.url });

  await using _worker = await startWorker(world);
  await world.left(0);

  assertSeen(receiver, messageIds);
  await assertWhole(world, messageIds);
  assert.equal(receiver.received.length, MESSAGES);
});

test("a worker killed after its claim, before it sends any of the request, loses nothing", async () => {
  await using world = await webhookWorld();
  await using authority = await ownAuthority();
  const tls = { isServer: true, ...authority.issue({ names: ["localhost"] }) };
  let isDead = false;
  await using host = await startRawServer((raw) => {
    // The client sends nothing of the request until the TLS handshake is answered.
    if (!isDead) return;
    const socket = new TLSSocket(raw, tls);
    onRequests(socket, () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  });
  const messageIds = await world.sent(MESSAGES, { url: `https://localhost:${host.port}/hook` });
  await using first = await startWorker(world, authority.settings);
  await until("it has connected", () => host.connections > 0);
  await kill(first);
  isDead = true;

  await takeOver(world, {
    certificates: [authority.cert],
    resolve: async () => ["127.0.0.1"],
  });

  await assertWhole(world, messageIds);
  assert.ok((await world.attempts()).some(({ error_class }) => error_class === "interrupted"));
});

/** An authority, and the settings of a worker that trusts it. */
async function ownAuthority() {
  const authority = makeAuthority();
  const folder = await mkdtemp(join(tmpdir(), "posthorn-authority-"));
  const file = join(folder, "authority.pem");
  await writeFile(file, authority.cert);
  return {
    ...authority,
    settings: { NODE_EXTRA_CA_CERTS: file },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("a worker killed before the receiver answers repeats what it may have sent, under the same id", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  const messageIds = await world.sent(MESSAGES, { url: receiver.url });
  await using first = await startWorker(world);
  await receiver.arrived(1);
  await kill(first);
  receiver.release(200);

  await takeOver(world);

  assertSeen(receiver, messageIds);
  await assertWhole(world, messageIds);
});

test("a worker killed as the receiver answers loses no webhook and ends none twice", async () => {
  await using world = await webhookWorld();
  await using first = await startWorker(world);
  await using receiver = await startReceiver(() => {
    first.kill("SIGKILL");
    return 200;
  });
  const messageIds = await world.sent(MESSAGES, { url: receiver.url });
  await first.exited;

  await takeOver(world);

  assertSeen(receiver, messageIds);
  await assertWhole(world, messageIds);
});

const WAITING = sql`
  select l.pid from pg_locks l
   where l.relation = 'webhook_attempts'::regclass and not l.granted
     and l.database = (select oid from pg_database where datname = current_database())`;

/** Kills the worker while its recording waits in the database; `afterwards` decides its fate. */
async function killAmidRecording(
  world: WebhookWorld,
  receiver: Receiver,
  afterwards: "lost" | "committed",
): Promise<void> {
  await using first = await startService(patient(world.db.url), { ROLES: "webhooks" });
  await receiver.arrived(1);
  await held(world.db, async (tx) => {
    await tx.query(sql`lock table webhook_attempts in share mode`);
    receiver.release(200);
    await world.until("the recording waits", sql`select count(*) > 0 as holds from (${WAITING}) w`);
    first.kill("SIGKILL");
    if (afterwards === "committed") return;
    await first.exited;
    await world.db.query(sql`select pg_terminate_backend(w.pid, 2000) from (${WAITING}) w`);
  });
  await first.exited;
  if (afterwards === "committed")
    await world.until(
      "the recording is committed",
      sql`select exists (select from webhook_attempts where ended = 'delivered') as holds`,
    );
}

test("a webhook whose worker is killed before recording the attempt is repeated, and ends once", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  const messageIds = await world.sent(1, { url: receiver.url });
  await killAmidRecording(world, receiver, "lost");

  await takeOver(world);

  assertSeen(receiver, messageIds);
  await assertWhole(world, messageIds);
  assert.equal(receiver.received.length, 2);
});

test("a worker killed after its recording was committed leaves nothing to repeat", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  const messageIds = await world.sent(1, { url: receiver.url });
  await killAmidRecording(world, receiver, "committed");

  await takeOver(world);

  await assertWhole(world, messageIds);
  assert.equal(receiver.received.length, 1);
});

test("a worker that hung beyond its lease is fenced: its attempt is logged, nothing else changes", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  await using zombie = await startWorker(world);
  const messageIds = await world.sent(1, { url: receiver.url });
  await receiver.arrived(1);
  zombie.kill("SIGSTOP");
  receiver.release(200);
  await takeOver(world);
  const before = await world.attempts();

  zombie.kill("SIGCONT");
  await world.until(
    "the zombie's attempt is logged",
    sql`select exists (select from webhook_attempts where attempt = 1 and http_status = 200) as holds`,
  );

  assert.deepEqual(
    before.map(({ attempt, error_class, ended }) => [attempt, error_class, ended]),
    [
      [1, "interrupted", null],
      [2, null, "delivered"],
    ],
  );
  const after = await world.attempts();
  assert.deepEqual(
    after.map(({ attempt, http_status, ended }) => [attempt, http_status, ended]),
    [
      [1, 200, null],
      [2, 200, "delivered"],
    ],
  );
  await assertWhole(world, messageIds);
});

test("a worker told to stop finishes what is in flight and gives back the rest", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  await world.sent(10, { url: receiver.url });
  await using worker = await startWorker(world);
  await receiver.arrived(2);

  worker.kill("SIGTERM");
  await until("it is stopping", () => worker.output().includes("Stopping"));
  receiver.release(200);
  const { code } = await worker.exited;

  assert.equal(code, 0);
  const attempts = await world.attempts();
  assert.equal(attempts.length, receiver.received.length);
  assert.ok(attempts.every(({ ended }) => ended === "delivered"));
  const left = await world.db.query<{ attempts: number; is_leased: boolean }>(sql`
    select attempts, leased_until is not null as is_leased from webhook_deliveries`);
  assert.equal(left.length, 10 - attempts.length);
  assert.ok(left.every((row) => row.attempts === 0 && !row.is_leased));
  await webhooksAreSound(world);
});
