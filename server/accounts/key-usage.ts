import { type Clock, type Database, type Loop, sql } from "#platform";

/** "Last used" may lag behind the last use by a minute plus this, even after a crash. */
const FLUSH_MS = 30_000;

/** Notes in memory when keys were used, and writes that in one statement now and then. */
export function keyUsage({ db, clock }: { db: Database; clock: Clock }) {
  const used = new Map<string, Date>();

  async function flush(): Promise<void> {
    const entries = [...used].toSorted(([a], [b]) => (a < b ? -1 : 1));
    used.clear();
    if (entries.length === 0) return;
    try {
      await upsertUsage(db, entries);
    } catch (error) {
      // Kept for the next flush, unless a newer use was noted meanwhile.
      for (const [keyId, at] of entries) if (!used.has(keyId)) used.set(keyId, at);
      throw error;
    }
  }

  const loop: Loop = { name: "note the use of keys", idleMs: FLUSH_MS, pass: flush };
  return { note: (keyId: string) => void used.set(keyId, clock.now()), flush, loop };
}

async function upsertUsage(db: Database, entries: [string, Date][]): Promise<void> {
  await db.query(sql`
    insert into key_usage as u (key_id, last_used_at)
    select * from unnest(${entries.map(([keyId]) => keyId)}::uuid[], ${entries.map(([, at]) => at)}::timestamptz[])
        on conflict (key_id) do update
       set last_used_at = excluded.last_used_at
     where excluded.last_used_at >= u.last_used_at + interval '60 s'`);
}
