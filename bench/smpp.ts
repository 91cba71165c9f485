/**
 * The speed of our SMPP client and of npm `smpp`, in one run on one machine: `node bench/smpp.ts`.
 * First the codec alone, then one bind over loopback to a sink in a second process, at windows of
 * 1, 10 and 100. Takes about half a minute.
 */
import { fork } from "node:child_process";
import { once } from "node:events";

import { type OutgoingSegment, readSmppSettings, smppCarrier, type SmppSettings } from "#carriers";
import { Secret, silentLog, systemClock } from "#platform";

import {
  encodeShortMessage,
  readShortMessage,
  shortMessageOctets,
  writeShortMessage,
  unused,
} from "../server/carriers/smpp/codec/body.ts";
import { command } from "../server/carriers/smpp/codec/header.ts";
import { readDelivered } from "../server/carriers/smpp/receipt.ts";
import { submission } from "../server/carriers/smpp/submission.ts";
import { npmSmpp } from "../test/support/npm-smpp.ts";

const RUN_MS = 2000;
const TEXT = "Your code is 482913. It is valid for ten minutes; share it with nobody.";

const segment: OutgoingSegment = {
  messageId: "00000000-0000-7000-8000-000000000000",
  recipient: "4915112345678",
  sender: "Posthorn",
  text: TEXT,
  wholeText: TEXT,
  encoding: "gsm7",
  segment: 1,
  segments: 1,
  concatReference: 7,
  validitySeconds: 86_400,
  attempt: 1,
  resent: false,
  isOvertaken: false,
};

const npmFields = {
  source_addr_ton: 5,
  source_addr: segment.sender,
  dest_addr_ton: 1,
  dest_addr_npi: 1,
  destination_addr: segment.recipient,
  registered_delivery: 1,
  validity_period: "000001000000000R",
  short_message: TEXT,
};

function settingsFor(port: number, window: number): SmppSettings {
  const read = readSmppSettings({ host: "127.0.0.1", port, system_id: "bench", window, rate: 0 });
  if (read.outcome === "wrong") throw new Error(JSON.stringify(read.faults));
  return read.settings;
}

/** Calls per second over `RUN_MS`, after a warm-up of a tenth of it. */
function callsPerSecond(run: () => void): number {
  let [count, startMs] = [0, 0];
  for (const limitMs of [RUN_MS / 10, RUN_MS]) {
    count = 0;
    startMs = performance.now();
    while (performance.now() - startMs < limitMs) {
      for (let i = 0; i < 100; i += 1) run();
      count += 100;
    }
  }
  return (count * 1000) / (performance.now() - startMs);
}

const epoch = () => new Date(0);

function benchCodec(): void {
  const settings = settingsFor(2775, 10);
  const slab = Buffer.alloc(4096);
  const head = { commandId: command.submitSm, status: 0, sequence: 1 };
  const encode = callsPerSecond(() => {
    const message = submission(segment, settings, epoch);
    if (message === undefined || shortMessageOctets(message) > slab.length)
      throw new Error("too long");
    writeShortMessage(slab, 0, head, message);
  });
  const npmEncode = callsPerSecond(() => void new npmSmpp.PDU("submit_sm", npmFields).toBuffer());
  report("encode submit_sm from text", encode, npmEncode);

  const receipt = receiptPdu();
  const decode = callsPerSecond(() => {
    const message = readShortMessage(receipt);
    if (message === undefined || readDelivered(message, settings).kind !== "receipt") {
      throw new Error("not a receipt");
    }
  });
  const npmDecode = callsPerSecond(() => void npmSmpp.PDU.fromBuffer(receipt));
  report("decode deliver_sm, receipt read", decode, npmDecode);
}

function receiptPdu(): Buffer {
  const text =
    "id:1794713833968001 sub:001 dlvrd:001 submit date:2611150930 done date:2611150931 " +
    "stat:DELIVRD err:000 text:Your code is 482913.";
  return encodeShortMessage(
    { commandId: command.deliverSm, status: 0, sequence: 1 },
    {
      serviceType: "",
      source: { ton: 1, npi: 1, address: segment.recipient },
      destination: { ton: 5, npi: 0, address: "Posthorn" },
      esmClass: 4,
      ...unused,
      shortMessage: Buffer.from(text),
      tlvs: Buffer.alloc(0),
    },
  );
}

/** Submits per second through the whole carrier: text in, outcome out. */
async function benchCarrier(port: number, window: number): Promise<number> {
  const carrier = smppCarrier({
    carrierId: "bench",
    name: "bench",
    settings: settingsFor(port, window),
    password: new Secret("bench"),
    clock: systemClock,
    log: silentLog,
    receipts: { store: async () => [], storedAtMs: () => systemClock.monotonicMs() },
    share: { binds: 1, rate: 0 },
  });
  const { signal } = new AbortController();
  const bound = new Promise<void>((resolve) => carrier.onRoom(resolve));
  carrier.start();
  await bound;
  const perSecond = await keepBusy(window, async () => {
    const outcome = await carrier.submit(segment, signal, () => true);
    if (outcome.kind !== "accepted") throw new Error(`submit ended ${outcome.kind}`);
  });
  await carrier.stop();
  return perSecond;
}

async function benchNpm(port: number, window: number): Promise<number> {
  const session = npmSmpp.connect({ host: "127.0.0.1", port });
  await new Promise<void>((resolve) => session.on("connect", () => resolve()));
  await new Promise<void>((resolve) => {
    session.bind_transceiver({ system_id: "bench", password: "bench" }, () => resolve());
  });
  const perSecond = await keepBusy(
    window,
    () => new Promise<void>((resolve) => session.submit_sm(npmFields, () => resolve())),
  );
  session.destroy();
  return perSecond;
}

/** Keeps `window` submits in flight for `RUN_MS`. */
async function keepBusy(window: number, submit: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  let count = 0;
  async function lane(): Promise<void> {
    while (performance.now() - startMs < RUN_MS) {
      await submit();
      count += 1;
    }
  }
  await Promise.all(Array.from({ length: window }, lane));
  return (count * 1000) / (performance.now() - startMs);
}

function report(what: string, ours: number, theirs: number): void {
  const [a, b] = [ours, theirs].map((value) => Math.round(value).toLocaleString("en").padStart(10));
  console.log(`${what.padEnd(34)} ${a}/s   npm smpp ${b}/s   ×${(ours / theirs).toFixed(1)}`);
}

benchCodec();
const sink = fork(new URL("./smpp-sink.ts", import.meta.url));
const [port] = (await once(sink, "message")) as [number];
for (const window of [1, 10, 100]) {
  report(
    `submits, window ${window}`,
    await benchCarrier(port, window),
    await benchNpm(port, window),
  );
}
sink.kill();
