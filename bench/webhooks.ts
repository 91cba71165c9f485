/**
 * Signed webhook deliveries per second, including storage, to a trivial receiver in another
 * process; against a bare loop of the same HTTP client that posts the same signed bytes and stores
 * nothing. Both alternate in one run, giving a ratio. Then the same beside hosts that never answer.
 *
 *   npm run bench:webhooks -- [--deliveries 20000] [--rounds 3] [--dead 0]
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { eventBody, eventId, hostKeyOf, newMessageId } from "#messages";
import { createMetrics, type Database, silentLog, sql, systemClock as clock } from "#platform";
import { deliveryLoop, laneKeeper, systemEgress } from "#webhooks";
import { egressPolicy } from "../server/webhooks/egress/policy.ts";
import { poster } from "../server/webhooks/post.ts";
import { webhookHeaders } from "../server/webhooks/headers.ts";
import { percentile } from "./percentile.ts";
import { type Account, databaseSeconds, inWorld, makeAccounts, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    deliveries: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    /** How many hosts accept and never answer, each with a backlog. */
    dead: { type: "string", default: "0" },
    /** For a profile: leaves out the bare loop and the ratio. */
    only: { type: "boolean", default: false },
  },
});
const count = Number(values.deliveries);
const IN_FLIGHT = 32;

await inWorld(async (world) => {
  const { port } = await world.startChild("./receiver-process.ts");
  const db = world.openDatabase({ maxConnections: 4, statementTimeoutMs: 0 });
  const [account] = (await makeAccounts(db, world, 1)) as [Account];
  const site = { world, db, accountId: account.accountId, port };
  const rates = { bare: [] as number[], stored: [] as number[] };
  if (!values.only) await bare(account.signingSecret, port, 2_000);
  await stored(site, 2_000);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    if (!values.only) rates.bare.push(await bare(account.signingSecret, port, count));
    rates.stored.push(await stored(site, count));
  }
  const [first, second] = [percentile(rates.bare, 0.5), percentile(rates.stored, 0.5)];
  if (!values.only)
    console.log(`bare loop, nothing stored  ${first.toFixed(0)} posts/s, ${IN_FLIGHT} in flight`);
  console.log(`claimed, posted, recorded  ${second.toFixed(0)} deliveries/s`);
  if (!values.only) console.log(`ratio                      ${(second / first).toFixed(2)}`);
  if (Number(values.dead) > 0) {
    const beside = await stored(site, count, Number(values.dead));
    console.log(
      `beside ${values.dead} dead hosts      ${beside.toFixed(0)} deliveries/s, ratio ${(beside / second).toFixed(2)}`,
    );
  }
});

/** The same client, bytes and headers, signed in advance, with as many in flight all the time. */
async function bare(secret: string, port: number, posts: number): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: IN_FLIGHT, pipelining: 1 });
  const { body, headers } = signed(secret);
  let left = posts;
  async function loop(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ path: "/hook", method: "POST", headers, body });
      await answer.body.dump();
    }
  }
  const before = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  const seconds = (performance.now() - began) / 1000;
  const cpu = process.cpuUsage(before);
  console.log(
    `  ${posts} bare in ${seconds.toFixed(1)} s; processor time each: node ${((cpu.user + cpu.system) / posts).toFixed(0)} µs`,
  );
  await pool.destroy();
  return posts / seconds;
}

function signed(secret: string) {
  const now = clock.now();
  const messageId = newMessageId(now.getTime());
  const body = eventBody({ messageId, recipient: "447700900123", status: "DELIVERED", at: now });
  const signable = {
    eventId: eventId(messageId, 3),
    timestampSeconds: Math.floor(now.getTime() / 1000),
    body,
    secrets: [secret],
  };
  const event = { event: "message.delivered", attempt: 1, sequence: 3 } as const;
  return { body, headers: webhookHeaders({ ...signable, ...event }, "bench") };
}

type Site = { world: World; db: Database; accountId: string; port: number };

async function emptied(db: Database, lane: string): Promise<void> {
  for (;;) {
    const [left] = await db.query(sql`
      select from webhook_deliveries where host_key = ${lane}::bigint limit 1`);
    if (left === undefined) return;
    await clock.sleep(20);
  }
}

/** Fills the table, then delivers until it is empty. */
async function stored(site: Site, deliveries: number, deadHosts = 0): Promise<number> {
  const { world, db, accountId, port } = site;
  const url = `http://127.0.0.1:${port}/hook`;
  const lane = hostKeyOf(accountId, url).toString();
  await using dead = await deadHost(deadHosts);
  const deliverDb = world.openDatabase({ maxConnections: 4, genericPlans: true });
  const policy = egressPolicy({
    allowCidrs: ["127.0.0.0/8"],
    allowHttp: true,
    showPrivateAnswers: true,
    ownPorts: [],
  });
  const loop = deliveryLoop({
    db: deliverDb,
    clock,
    log: { ...silentLog, error: console.error },
    metrics: createMetrics(),
    secrets: world.secrets,
    lanes: laneKeeper({ clock }),
    poster: poster(systemEgress(policy, clock)),
    policy,
    version: "bench",
  });
  if (deadHosts > 0) {
    // Only a host known to be healthy is served before those that never answer.
    await fill(db, { accountId, deliveries: 100, url });
    loop.start();
    await emptied(db, lane);
    for (const address of dead.urls) await fill(db, { accountId, deliveries: 50, url: address });
  }
  await fill(db, { accountId, deliveries, url });
  await db.query(sql`analyze webhook_deliveries`);
  const before = { cpu: process.cpuUsage(), database: await databaseSeconds(world) };
  const began = performance.now();
  if (deadHosts === 0) loop.start();
  await emptied(db, lane);
  const seconds = (performance.now() - began) / 1000;
  const cpu = process.cpuUsage(before.cpu);
  const each = (spent: number) => `${((spent * 1e6) / deliveries).toFixed(0)} µs`;
  console.log(
    `  ${deliveries} in ${seconds.toFixed(1)} s; processor time each: node ${each((cpu.user + cpu.system) / 1e6)}, database ${each((await databaseSeconds(world)) - before.database)}`,
  );
  await db.query(sql`truncate webhook_deliveries`);
  await loop.stop();
  await deliverDb.close();
  return deliveries / seconds;
}

type Backlog = { accountId: string; deliveries: number; url: string };

/** Events as `move_messages` creates them. */
async function fill(db: Database, { accountId, deliveries, url: address }: Backlog): Promise<void> {
  const lane = hostKeyOf(accountId, address).toString();
  for (let done = 0; done < deliveries; done += 1_000) {
    const now = clock.now();
    const ids = Array.from({ length: Math.min(1_000, deliveries - done) }, () =>
      newMessageId(now.getTime()),
    );
    const bodies = ids.map((messageId) =>
      eventBody({ messageId, recipient: "447700900123", status: "DELIVERED", at: now }),
    );
    await db.query(sql`
      with u as (
        select * from unnest(${ids}::uuid[], ${bodies}::bytea[]) as u (message_id, body)
      ), noted as (
        insert into events (message_id, sequence, account_id, status, at, callback_url, body)
        select message_id, 3, ${accountId}, 'DELIVERED', ${now}, ${address}, body from u
      )
      insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
      select message_id, 3, ${accountId}, ${lane}::bigint, clock_timestamp(), clock_timestamp() from u`);
  }
}

/** Accepts connections on many addresses and never answers. */
async function deadHost(hosts: number) {
  const server = createServer(() => undefined).listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port: deadPort } = server.address() as { port: number };
  return {
    urls: Array.from({ length: hosts }, (_, n) => `http://127.0.1.${n + 1}:${deadPort}/hook`),
    async [Symbol.asyncDispose]() {
      server.close();
      await Promise.resolve();
    },
  };
}
