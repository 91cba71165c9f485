import { batcher, type Database, keepNewest, type Sql, sql } from "#platform";
import { hashKey, isWellFormed } from "./key.ts";
import { type JudgedKey, judgedNow } from "./key-row.ts";

export type Limits = { sends: number; sendsBurst: number; reads: number; readsBurst: number };

type Caller = { keyId: string; accountId: string; scopes: readonly string[] };
type Allowance = { rate: number; burst: number; tokens: number };
type Verdict =
  | { outcome: "valid"; caller: Caller; sends: Allowance; reads: Allowance; isGranted: boolean }
  | { outcome: "unknown" | "revoked" | "expired" | "queue_full" };
type Question = { key: string; takesRead: boolean };
type Row = {
  hash: Buffer;
  key_id: string;
  account_id: string;
  scopes: string[];
  outcome: JudgedKey;
  send_tokens: number;
  read_tokens: number;
  granted: number;
};

/** The most keys that are remembered. The one looked up longest ago is forgotten first. */
const MAX_REMEMBERED = 50_000;

/**
 * Finds out whom a key belongs to. Lookups of one turn of the event loop share a statement, but
 * never join one that was already sent, so an answer is never older than its question. Unknown keys
 * are not remembered, so a new key works at once.
 */
export function authenticator({
  db,
  limits,
  onUse,
}: {
  db: Database;
  limits: Limits;
  onUse: (keyId: string) => void;
}) {
  const remembered = new Map<string, Caller>();

  const ask = batcher<Question, Verdict>({
    run: (questions) => lookUpKeys(db, limits, questions),
    whenFull: () => ({ outcome: "queue_full" }),
    maxItems: 500,
    maxRunning: 4,
    maxWaiting: 10_000,
  });

  return {
    /** Saves a lookup. The statement that then does the work judges the key again. */
    recall(key: string): Caller | undefined {
      const caller = remembered.get(key);
      if (caller) onUse(caller.keyId);
      return caller;
    },

    async lookUp(key: string, takesRead: boolean): Promise<Verdict> {
      if (!isWellFormed(key)) return { outcome: "unknown" };
      const verdict = await ask({ key, takesRead });
      if (verdict.outcome === "queue_full") return verdict;
      remembered.delete(key);
      if (verdict.outcome === "valid") {
        remembered.set(key, verdict.caller);
        keepNewest(remembered, MAX_REMEMBERED);
        onUse(verdict.caller.keyId);
      }
      return verdict;
    },
  };
}

async function lookUpKeys(db: Database, limits: Limits, questions: Question[]): Promise<Verdict[]> {
  const asked = Map.groupBy(questions, ({ key }) => key);
  const hashes = new Map([...asked.keys()].map((key) => [key, hashKey(key)]));
  const reads = [...asked.values()].map(
    (group) => group.filter(({ takesRead }) => takesRead).length,
  );
  const rows = await selectKeys(db, limits, { hashes: [...hashes.values()], reads });
  const byHash = new Map(rows.map((row) => [row.hash.toString("hex"), row]));
  return questions.map(({ key, takesRead }) => {
    const row = byHash.get(hashes.get(key)?.toString("hex") ?? "");
    if (!row) return { outcome: "unknown" };
    if (row.outcome !== "valid") return { outcome: row.outcome };
    const isGranted = !takesRead || row.granted > 0;
    if (takesRead) row.granted -= 1;
    return { outcome: "valid", isGranted, ...verdictOf(row, limits) };
  });
}

function verdictOf(row: Row, limits: Limits) {
  return {
    caller: { keyId: row.key_id, accountId: row.account_id, scopes: row.scopes },
    sends: { rate: limits.sends, burst: limits.sendsBurst, tokens: row.send_tokens },
    reads: { rate: limits.reads, burst: limits.readsBurst, tokens: row.read_tokens },
  };
}

/** The current state of the keys, with the remaining allowances of the keys and their accounts. */
function selectKeys(
  db: Database,
  limits: Limits,
  { hashes, reads }: { hashes: Buffer[]; reads: number[] },
): Promise<Row[]> {
  const { reads: rate, readsBurst } = limits;
  const grown = refilled(rate, readsBurst, sql`excluded.tokens_at`);
  return db.query<Row>(sql`
    with found as (
      select u.hash, u.reads, k.key_id, k.account_id, k.scopes,
             ${judgedNow} as outcome
        from unnest(${hashes}::bytea[], ${reads}::int[]) as u (hash, reads)
        join keys k on k.hash = u.hash
    ), taken as (
      insert into read_allowances as r (key_id, tokens, tokens_at, asked, granted)
      select key_id, ${readsBurst}::float8 - least(reads, floor(${readsBurst}::float8)), clock_timestamp(), reads,
             least(reads, floor(${readsBurst}::float8))
        from found
       where outcome = 'valid' and reads > 0
       order by key_id
          on conflict (key_id) do update
         set tokens = ${grown} - least(excluded.asked, floor(${grown})),
             granted = least(excluded.asked, floor(${grown})),
             asked = excluded.asked,
             -- Whoever waited for the row brings an older time: it must not refill the same second twice.
             -- A time further ahead is of a clock that was set back: the allowance must not wait for it.
             tokens_at = case when r.tokens_at < excluded.tokens_at + interval '10 seconds'
                              then greatest(r.tokens_at, excluded.tokens_at)
                              else excluded.tokens_at
                         end
      returning key_id, tokens, granted
    )
    select f.hash, f.key_id, f.account_id, f.scopes, f.outcome, coalesce(t.granted, 0) as granted,
           coalesce(t.tokens, ${refilled(rate, readsBurst, sql`clock_timestamp()`)}, ${readsBurst}::float8) as read_tokens,
           ${sendTokensOf(sql`f.account_id`, limits)} as send_tokens
      from found f
      left join taken t on t.key_id = f.key_id
      left join read_allowances r on r.key_id = f.key_id`);
}

/** How many messages an account may send at once right now. */
export function sendTokensOf(
  accountId: Sql,
  { sends, sendsBurst }: Pick<Limits, "sends" | "sendsBurst">,
): Sql {
  return sql`(
    select least(${sendsBurst}::float8, coalesce(
             a.send_tokens + ${sends}::float8 * greatest(0, extract(epoch from clock_timestamp() - a.send_tokens_at)),
             ${sendsBurst}::float8
           ))
      from accounts a
     where a.account_id = ${accountId})`;
}

/** The tokens that an allowance has refilled to by `at`. */
function refilled(rate: number, burst: number, at: Sql): Sql {
  return sql`least(${burst}::float8, r.tokens + ${rate}::float8 * greatest(0, extract(epoch from ${at} - r.tokens_at)))`;
}
