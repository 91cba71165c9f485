import {
  type OutgoingSegment,
  type Receipt,
  type ReceiptSink,
  readSmppSettings,
  smppCarrier,
  type SmppSettings,
  type SmscOptions,
  startSmsc,
  type SubmitOutcome,
} from "#carriers";
import { type Clock, type Log, Secret, silentLog, systemClock } from "#platform";
import type { Share, SmppCarrier } from "../../server/carriers/smpp/carrier.ts";
import type { Smsc } from "../../server/carriers/smsc.ts";

import { type ShortMessage, unused } from "../../server/carriers/smpp/codec/body.ts";
import { until } from "./until.ts";

export function segmentTo(
  recipient: string,
  given: Partial<OutgoingSegment> = {},
): OutgoingSegment {
  return {
    messageId: "0199a000-0000-7000-8000-000000000000",
    recipient,
    sender: "Posthorn",
    text: "Hello",
    wholeText: given.text ?? "Hello",
    encoding: "gsm7",
    segment: 1,
    segments: 1,
    concatReference: 7,
    validitySeconds: 3600,
    attempt: 1,
    resent: false,
    isOvertaken: false,
    ...given,
  };
}

/** A receipt as a carrier sends it; its text holds the details. */
export function receiptSaying(
  text: string,
  given: Partial<ShortMessage<Buffer>> = {},
): ShortMessage<Buffer> {
  return {
    serviceType: "",
    source: { ton: 1, npi: 1, address: "4915112345678" },
    destination: { ton: 5, npi: 0, address: "Posthorn" },
    esmClass: 0x04,
    ...unused,
    shortMessage: Buffer.from(text),
    tlvs: Buffer.alloc(0),
    ...given,
  };
}

/** Settings of a carrier, with defaults for those not given; no rate limit unless asked for. */
export function smppSettings(given: Record<string, unknown> = {}): SmppSettings {
  const read = readSmppSettings({ host: "127.0.0.1", system_id: "user", rate: 0, ...given });
  if (read.outcome === "wrong") throw new Error(JSON.stringify(read.faults));
  return read.settings;
}

type Store = (batch: Receipt[]) => Promise<readonly Receipt[] | void>;

/** A sink that stores all but what `store` returns. By default it never reports a stored one. */
export function sinkOf(
  store: Store,
  storedAtMs: ReceiptSink["storedAtMs"] = () => Number.NEGATIVE_INFINITY,
): ReceiptSink {
  return { store: async (batch) => (await store(batch)) ?? [], storedAtMs };
}

/** Lets every segment leave when it is its turn. */
export const leaves = () => true;

type WorldOptions = {
  smsc?: SmscOptions;
  settings?: Record<string, unknown>;
  share?: Share;
  /** The carrier's clock; the SMSC has its own in `smsc`. */
  clock?: Clock;
  log?: Log;
  store?: Store;
  password?: string;
};

export type SmppWorld = {
  smsc: Smsc;
  carrier: SmppCarrier;
  /** Every receipt that was stored. */
  receipts: Receipt[];
  submit: (recipient?: string, given?: Partial<OutgoingSegment>) => Promise<SubmitOutcome>;
  /** Resolves once the carrier has room for a submission. */
  ready: () => Promise<void>;
  receiptArrived: (nth?: number) => Promise<Receipt>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** An SMSC and a carrier that connects to it; does not wait for the connection. */
export async function smppWorld(options: WorldOptions = {}): Promise<SmppWorld> {
  const smsc = await startSmsc(options.smsc);
  const receipts: Receipt[] = [];
  const carrier = smppCarrier({
    carrierId: "carrier-1",
    name: "acme",
    settings: smppSettings({ port: smsc.port, ...options.settings }),
    password: new Secret(options.password ?? "secret"),
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
    receipts: sinkOf(async (batch) => {
      await options.store?.(batch);
      receipts.push(...batch);
    }),
    share: options.share ?? { binds: 1, rate: 0 },
    random: () => 0.5,
  });
  carrier.start();
  return {
    smsc,
    carrier,
    receipts,
    // A signal per submission: one with thousands of listeners searches all of them each time.
    submit: (recipient = "4915112345678", given = {}) =>
      carrier.submit(segmentTo(recipient, given), new AbortController().signal, leaves),
    ready: () => until("the carrier has room", () => carrier.room() > 0),
    async receiptArrived(nth = 1) {
      await until(`receipt ${nth} is stored`, () => receipts.length >= nth);
      return receipts[nth - 1] as Receipt;
    },
    async [Symbol.asyncDispose]() {
      await smsc.stop();
      await carrier.stop();
    },
  };
}

export async function boundWorld(options: WorldOptions = {}): Promise<SmppWorld> {
  await using started = new AsyncDisposableStack();
  const world = started.use(await smppWorld(options));
  await world.ready();
  started.move();
  return world;
}
