import { type Actor, recordAudit } from "#accounts";
import { describeSmppSettings, passwordFault, readSmppSettings } from "#carriers";
import type { Carrier, Detail } from "#contract";
import { Problem } from "#http";
import { measureQueue } from "#messages";
import { type Clock, type Database, type SecretBox, within } from "#platform";
import {
  type CarrierRow,
  changeCarrier,
  listCarriers,
  changedSettings,
  measureParked,
  readCarrierStates,
  type SeenCarrier,
  shownSettings,
  testCarrier,
} from "#sending";
import type { ConsoleHandlers } from "./console-call.ts";
import { fieldDetails, refuseFields } from "./field-problems.ts";

type Deps = { db: Database; clock: Clock; secrets: SecretBox };

/** Carriers as the operator sees them: their state, limits and passwords, pausing and resuming. */
export function carrierHandlers(deps: Deps) {
  const { db, clock, secrets } = deps;
  const pause = async (carrierId: string, isPaused: boolean, actor: Actor) => {
    await requireCarrier(db, carrierId);
    await changeCarrier(db, { carrierId, paused: isPaused, secrets, actor, now: clock.now() });
    // Not in one transaction: counting a long queue takes time, and must not undo the pause.
    return presentCarrier(db, carrierId);
  };
  return {
    async listCarriers() {
      const [carriers, parked] = await Promise.all([listCarriers(db), measureParked(db)]);
      return { data: await presentCarriers(db, carriers), parkedReceipts: parked.count };
    },

    async updateCarrier({ params: { carrierId }, body, actor, problem, holdAccess }) {
      const carrier = await requireCarrier(db, carrierId);
      const { version, password } = body;
      const merged = body.settings && mergeSettings(carrier, body.settings, secrets);
      refuseFields({ password: judgePassword(carrier, password, merged) }, merged?.faults);
      const change = {
        carrierId,
        version,
        ...(merged ? { settings: merged.settings } : {}),
        ...(password === undefined ? {} : { password }),
        secrets,
        actor,
        now: clock.now(),
      };
      const isChanged = await db.transaction(async (tx) => {
        await holdAccess(tx);
        return changeCarrier(within(tx), change);
      });
      if (!isChanged) throw problem("VERSION_CONFLICT");
      return presentCarrier(db, carrierId);
    },

    async testCarrier({ params: { carrierId }, actor }) {
      const carrier = await requireCarrier(db, carrierId);
      const beganMs = clock.monotonicMs();
      const { isBound, sentence } = await testCarrier(carrier, deps);
      const durationMs = Math.round(clock.monotonicMs() - beganMs);
      const details = { name: carrier.name, isBound };
      const action = "carrier.tested";
      await recordAudit(db, action, { actor, now: clock.now(), objectId: carrierId, details });
      return { isBound, message: sentence, durationMs };
    },

    pauseCarrier: ({ params, actor }) => pause(params.carrierId, true, actor),
    resumeCarrier: ({ params, actor }) => pause(params.carrierId, false, actor),
  } satisfies Partial<ConsoleHandlers>;
}

/** The settings that decide who receives the password, and who can read it on its way. */
const PLACE = /^(host|port|system_id|tls.*)$/;

/** People who do not know the password must not be able to send it to where they can read it. */
function judgePassword(
  carrier: CarrierRow,
  password: string | undefined,
  merged: { isElsewhere: boolean } | undefined,
): string[] {
  if (password === undefined)
    return carrier.password !== null && merged?.isElsewhere
      ? ["Enter the password too: this change decides who gets to see it."]
      : [];
  const fault = passwordFault(password);
  return fault ? [sentence(`the ${fault}`)] : [];
}

/** The settings after a change, their faults, and whether the password now goes elsewhere. */
function mergeSettings(
  carrier: CarrierRow,
  given: Record<string, unknown>,
  secrets: SecretBox,
): { settings: Record<string, unknown>; isElsewhere: boolean; faults: Detail[] } {
  if (carrier.kind === "simulator")
    return {
      settings: {},
      isElsewhere: false,
      faults: fieldDetails({ settings: ["The simulator has no settings."] }),
    };
  const before = changedSettings(carrier, {}, secrets);
  const settings = changedSettings(carrier, given, secrets);
  const read = readSmppSettings(settings);
  const faults = read.outcome === "wrong" ? read.faults : [];
  return {
    settings,
    isElsewhere: Object.keys(given).some(
      (name) => PLACE.test(name) && settings[name] !== before[name],
    ),
    faults: faults.flatMap(({ setting, message }) =>
      fieldDetails({ [`settings.${setting}`]: [`${setting} ${message}.`] }),
    ),
  };
}

async function requireCarrier(db: Database, carrierId: string): Promise<CarrierRow> {
  const carrier = (await listCarriers(db)).find(({ carrier_id }) => carrier_id === carrierId);
  if (!carrier) throw new Problem("CARRIER_NOT_FOUND");
  return carrier;
}

async function presentCarrier(db: Database, carrierId: string): Promise<Carrier> {
  const [presented] = await presentCarriers(db, [await requireCarrier(db, carrierId)]);
  return presented as Carrier;
}

async function presentCarriers(db: Database, carriers: CarrierRow[]): Promise<Carrier[]> {
  const [states, queue] = await Promise.all([readCarrierStates(db, carriers), measureQueue(db)]);
  return carriers.map((carrier) => {
    const waiting = queue
      .filter(({ carrier_id }) => carrier_id === carrier.carrier_id)
      .reduce((sum, each) => sum + each.waiting, 0);
    return { ...presentState(states.get(carrier.carrier_id)), ...presentRow(carrier), waiting };
  });
}

function presentRow(row: CarrierRow) {
  return {
    carrierId: row.carrier_id,
    name: row.name,
    kind: row.kind,
    isPaused: row.paused,
    settings: { ...(row.kind === "smpp" ? defaultLimits : {}), ...shownSettings(row.settings) },
    hasPassword: row.password !== null,
    version: row.version,
  };
}

/** The limits in force if unset, so that changing one does not silently change the others. */
const defaultLimits = Object.fromEntries(
  describeSmppSettings()
    .filter(({ name }) => ["rate", "window", "in_doubt"].includes(name))
    .map(({ name, fallback, parse }) => [name, parse(fallback)]),
);

const NOTHING_COUNTED = {
  lastHour: { since: null, refusals: {}, lateReceipts: 0 },
  sinceStart: { inDoubt: 0, reconnects: 0, throttled: 0 },
};

function presentState(seen: SeenCarrier | undefined) {
  const links = seen?.links ?? [];
  const total = (pick: (link: SeenCarrier["links"][number]) => number) =>
    links.reduce((sum, link) => sum + pick(link), 0);
  const { lastHour, sinceStart } = seen ?? NOTHING_COUNTED;
  const { since, refusals, lateReceipts } = lastHour;
  const byCount = Object.entries(refusals)
    .map(([carrierCode, count]) => ({ carrierCode, count }))
    .toSorted((a, b) => b.count - a.count);
  return {
    state: seen?.state ?? "unknown",
    problems: (seen?.problems ?? []).map(sentence),
    links: links.map(presentLink),
    submitsPerSecond: total(({ submitsPerSecond }) => submitsPerSecond),
    receiptsPerSecond: total(({ receiptsPerSecond }) => receiptsPerSecond),
    responseMs: presentLatency(slowest(links)),
    countedSince: since,
    refusals: byCount,
    lateReceipts,
    sinceStart,
    seenAt: seen?.seenAt?.toISOString() ?? null,
  };
}

function slowest(links: SeenCarrier["links"]) {
  const measured = links.flatMap(({ responseMs }) => responseMs ?? []);
  return measured.toSorted((a, b) => b.p99 - a.p99)[0] ?? null;
}

function presentLink({ responseMs, problem, ...link }: SeenCarrier["links"][number]) {
  return {
    ...link,
    responseMs: presentLatency(responseMs),
    problem: problem && sentence(problem),
  };
}

function sentence(clause: string): string {
  return `${clause.slice(0, 1).toUpperCase()}${clause.slice(1)}.`;
}

function presentLatency(latency: { p50: number; p99: number } | null) {
  return latency && { p50Ms: latency.p50, p99Ms: latency.p99 };
}
