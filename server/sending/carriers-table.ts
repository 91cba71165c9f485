import { type Change, recordAudit } from "#accounts";
import type { CarrierKind } from "#contract/words";
import { takeOutOfRoutes } from "#messages";
import { type Database, newId, type Queryable, type SecretBox, sql, violates } from "#platform";
import { resealed, sealPassword, sealSettings, shownSettings } from "./carrier-secrets.ts";

export type CarrierRow = {
  carrier_id: string;
  name: string;
  kind: CarrierKind;
  /** Values by setting name, as text or JSON. A private key is sealed; `openSettings` opens it. */
  settings: Record<string, unknown>;
  password: Buffer | null;
  paused: boolean;
  version: number;
  created_at: Date;
};

/** Whether only receipts come through it and no message leaves: routes pass it over. */
export function onlyReceives({ settings }: Pick<CarrierRow, "settings">): boolean {
  return settings["bind"] === "receiver";
}

const columns = sql`carrier_id, name, kind, settings, password, paused, version, created_at`;

export function listCarriers(db: Queryable): Promise<CarrierRow[]> {
  return db.query<CarrierRow>(
    sql`select ${columns} from carriers where removed_at is null order by carrier_id`,
  );
}

type CarrierName = Pick<CarrierRow, "name" | "kind"> & { carrierId: string };

/** Includes carriers that were removed: messages remember who carried them. */
export async function findCarrierNames(
  db: Queryable,
  carrierIds: readonly string[],
): Promise<Map<string, CarrierName>> {
  const rows = await db.query<CarrierName>(sql`
    select carrier_id as "carrierId", name, kind
      from carriers
     where carrier_id = any (${carrierIds}::uuid[])`);
  return new Map(rows.map((row) => [row.carrierId, row]));
}

type NamedChange = Change & { name: string };
type Added = { outcome: "added"; carrierId: string } | { outcome: "name_taken" };

export type NewCarrier = NamedChange & {
  settings: Record<string, unknown>;
  password: string;
  secrets: SecretBox;
};

/** An SMPP carrier. */
export function addCarrier(db: Database, wish: NewCarrier): Promise<Added> {
  const { settings, password, secrets, now } = wish;
  const carrierId = newId(now.getTime());
  return insertCarrier(db, wish, {
    carrierId,
    kind: "smpp",
    settings: sealSettings(carrierId, settings, secrets),
    password: sealPassword(carrierId, password, secrets),
  });
}

/** A simulator, which has no settings. */
export function addSimulator(db: Database, wish: NamedChange): Promise<Added> {
  const carrierId = newId(wish.now.getTime());
  return insertCarrier(db, wish, { carrierId, kind: "simulator", settings: {}, password: null });
}

type Stored = Pick<CarrierRow, "kind" | "settings" | "password"> & { carrierId: string };

async function insertCarrier(
  db: Database,
  { name, actor, now }: NamedChange,
  { carrierId, kind, settings, password }: Stored,
): Promise<Added> {
  try {
    await db.transaction(async (tx) => {
      await tx.query(sql`
        insert into carriers (carrier_id, name, kind, settings, password, created_at)
        values (${carrierId}, ${name}, ${kind}, ${JSON.stringify(settings)}, ${password}, ${now})`);
      const details = { name, settings: shownSettings(settings) };
      await recordAudit(tx, "carrier.added", { actor, now, objectId: carrierId, details });
    });
  } catch (error) {
    if (violates(error, "carrier_name_is_unique")) return { outcome: "name_taken" };
    throw error;
  }
  return { outcome: "added", carrierId };
}

export type CarrierChange = Change & {
  carrierId: string;
  paused?: boolean;
  settings?: Record<string, unknown>;
  password?: string;
  secrets: SecretBox;
  /** If given, nothing is changed unless this is still the carrier's version. */
  version?: number;
};

/** Changes only what is given. The change takes effect on every node within a second. */
export async function changeCarrier(db: Database, change: CarrierChange): Promise<boolean> {
  const { carrierId, paused = null, settings = null, password, secrets, actor, now } = change;
  const { version = null } = change;
  const sealed = password === undefined ? null : sealPassword(carrierId, password, secrets);
  const stored = settings && JSON.stringify(sealSettings(carrierId, settings, secrets));
  /** Only what is changed, for the audit log. */
  const shown = (of: { paused: boolean | null; settings: Record<string, unknown> | null }) => ({
    ...(paused !== null && { paused: of.paused }),
    ...(settings !== null && { settings: shownSettings(of.settings ?? {}) }),
  });
  return db.transaction(async (tx) => {
    const [old] = await tx.query<Pick<CarrierRow, "paused" | "settings">>(sql`
      select paused, settings
        from carriers
       where carrier_id = ${carrierId} and removed_at is null
         and (${version}::integer is null or version = ${version})
         for update`);
    if (!old) return false;
    if (paused === old.paused && settings === null && password === undefined) return true;
    await tx.query(sql`
      update carriers
         set paused = coalesce(${paused}, paused),
             settings = coalesce(${stored}::jsonb, settings),
             password = coalesce(${sealed}, password),
             version = version + 1
       where carrier_id = ${carrierId}`);
    const details = {
      before: shown(old),
      after: shown({ paused, settings }),
      ...(password !== undefined && { passwordChanged: true }),
    };
    await recordAudit(tx, "carrier.changed", { actor, now, objectId: carrierId, details });
    return true;
  });
}

/**
 * The row stays for the history; its routes go on without it. What waits for it moves to the next
 * carrier of its route. A message that it has a part of ends, since no carrier can complete it.
 */
export function removeCarrier(
  db: Database,
  { carrierId, actor, now }: Change & { carrierId: string },
): Promise<void> {
  return db.transaction(async (tx) => {
    const [removed] = await tx.query<{ name: string }>(sql`
      update carriers
         set removed_at = ${now}, password = null, settings = settings - 'tls_key', version = version + 1
       where carrier_id = ${carrierId} and removed_at is null
      returning name`);
    if (!removed) return;
    await recordAudit(tx, "carrier.removed", { actor, now, objectId: carrierId, details: removed });
    await takeOutOfRoutes(tx, carrierId, { actor, now });
  });
}

/** Reseals what an earlier SECRET_KEY sealed; returns for how many carriers. They then rebind. */
export function resealCarriers(db: Database, secrets: SecretBox): Promise<number> {
  return db.transaction(async (tx) => {
    // Locked: a carrier changed meanwhile must not keep its old seal: the earlier key goes next.
    const carriers = await tx.query<CarrierRow>(sql`
      select ${columns} from carriers where removed_at is null order by carrier_id for update`);
    let count = 0;
    for (const carrier of carriers) {
      const anew = resealed(carrier, secrets);
      if (anew === null) continue;
      await tx.query(sql`
        update carriers
           set password = ${anew.password}, settings = ${JSON.stringify(anew.settings)}, version = version + 1
         where carrier_id = ${carrier.carrier_id}`);
      count += 1;
    }
    return count;
  });
}
