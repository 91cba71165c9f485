/**
 * Signed webhook POSTs per second through the poster, against a bare undici pool that neither signs
 * nor judges, and streams the answer. The receiver is another process on loopback.
 *
 *   node bench/webhook-post.ts [seconds per round] [in flight]
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Pool } from "undici";
import { newId, systemClock } from "#platform";
import { systemEgress } from "#webhooks";
import { eventBody, hostKeyOf } from "#messages";
import { egressPolicy } from "../server/webhooks/egress/policy.ts";
import { poster } from "../server/webhooks/post.ts";
import { webhookHeaders } from "../server/webhooks/headers.ts";
import { percentile } from "./percentile.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const ROUNDS = 5;

type Rate = { perSecond: number; cpuMicroseconds: number };
type Rates = { bare: Rate[]; signed: Rate[] };
type Load = { seconds: number; inFlight: number };

async function main(seconds: number, inFlight: number): Promise<void> {
  const receiver = fork(new URL("./receiver-process.ts", import.meta.url));
  const [port] = (await once(receiver, "message")) as [number];
  const bare = barePost(port, inFlight);
  const signed = signedPost(port);
  const rates: Rates = { bare: [], signed: [] };
  await measure(bare.post, { seconds: 1, inFlight });
  await measure(signed.post, { seconds: 1, inFlight });
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.bare.push(await measure(bare.post, { seconds, inFlight }));
    rates.signed.push(await measure(signed.post, { seconds, inFlight }));
  }
  await Promise.all([bare.close(), signed.close(), stop(receiver)]);
  report(rates, inFlight);
}

/** Keeps `inFlight` posts going for a while. Processor time is reliable even on a busy machine. */
async function measure(post: () => Promise<void>, { seconds, inFlight }: Load): Promise<Rate> {
  const endMs = systemClock.monotonicMs() + seconds * 1_000;
  let posts = 0;
  async function loop(): Promise<void> {
    while (systemClock.monotonicMs() < endMs) {
      await post();
      posts += 1;
    }
  }
  const startedMs = systemClock.monotonicMs();
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, loop));
  const { user, system } = process.cpuUsage(before);
  const perSecond = (posts * 1_000) / (systemClock.monotonicMs() - startedMs);
  return { perSecond, cpuMicroseconds: (user + system) / posts };
}

function barePost(port: number, connections: number) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const body = newBody();
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": "Posthorn/bench",
    "X-SMS-Event": "message.delivered",
  };
  return {
    post: async () => {
      const answer = await pool.request({ path: "/hook", method: "POST", headers, body });
      await answer.body.dump();
    },
    close: () => pool.destroy(),
  };
}

function signedPost(port: number) {
  const url = `http://127.0.0.1:${port}/hook`;
  const policy = egressPolicy({
    allowCidrs: ["127.0.0.0/8"],
    allowHttp: true,
    showPrivateAnswers: true,
    ownPorts: [],
  });
  const sender = poster(systemEgress(policy, systemClock));
  const hostKey = hostKeyOf("0199aaaa-0000-7000-8000-000000000000", url);
  const body = newBody();
  return {
    post: async () => {
      const now = systemClock.now().getTime();
      const timestampSeconds = Math.floor(now / 1_000);
      const eventId = newId(now);
      const signable = { eventId, timestampSeconds, body, secrets: [SECRET] };
      const event = { event: "message.delivered", attempt: 1, sequence: 3 } as const;
      const headers = webhookHeaders({ ...signable, ...event }, "bench");
      const { status } = await sender.post({ hostKey, url, headers, body });
      if (status !== 200) throw new Error(`The receiver answered ${status}.`);
    },
    close: () => sender.close(),
  };
}

function newBody(): Buffer {
  const at = systemClock.now();
  const messageId = newId(at.getTime());
  return eventBody({ messageId, recipient: "447700900123", status: "DELIVERED", at });
}

function report(rates: Rates, inFlight: number): void {
  const [bare, signed] = [median(rates.bare), median(rates.signed)];
  console.log(`${inFlight} in flight    posts/s   processor µs/post`);
  for (const [name, { perSecond, cpuMicroseconds }] of Object.entries({ bare, signed })) {
    console.log(
      `${name.padEnd(14)} ${perSecond.toFixed(0).padStart(7)} ${cpuMicroseconds.toFixed(1).padStart(19)}`,
    );
  }
  console.log(
    `signed / bare    ${(signed.perSecond / bare.perSecond).toFixed(2)} by the clock, ${(bare.cpuMicroseconds / signed.cpuMicroseconds).toFixed(2)} by processor time`,
  );
}

function median(rates: Rate[]): Rate {
  const middle = (name: keyof Rate) =>
    percentile(
      rates.map((rate) => rate[name]),
      0.5,
    );
  return { perSecond: middle("perSecond"), cpuMicroseconds: middle("cpuMicroseconds") };
}

async function stop(receiver: ChildProcess): Promise<void> {
  receiver.disconnect();
  await once(receiver, "exit");
}

await main(Number(process.argv[2] ?? 2), Number(process.argv[3] ?? 32));
