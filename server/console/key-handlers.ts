import {
  browseKeys,
  countKeys,
  createKey,
  judgeName,
  keyPrefix,
  type KeyRow,
  type KeyState,
  maskKey,
  MAX_ACTIVE_KEYS,
  revokeKey,
} from "#accounts";
import { type ApiKey, EXPIRES_SOON_DAYS } from "#contract";
import type { Pager } from "#http";
import { chosen, type Clock, type Database, DAY_MS, within } from "#platform";
import { type ActorNames, findActors } from "./actors.ts";
import type { ConsoleHandlers } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { takeFormKey } from "./form-keys.ts";

/** API keys: people create, list and revoke them; a key never does. */
export function keyHandlers({ db, clock, pager }: { db: Database; clock: Clock; pager: Pager }) {
  return {
    async listKeys({ account: { accountId }, query }) {
      const now = clock.now();
      const states = chosen(query.state?.flatMap(widen));
      const asked = { accountId, states, now, soonDays: EXPIRES_SOON_DAYS };
      const [{ rows, cursors }, counts] = await Promise.all([
        pager.list(query, {
          boundTo: ["keys", accountId, states],
          browse: (page) => browseKeys(db, { ...asked, ...page }),
          idOf: (row) => row.key_id,
        }),
        countKeys(db, { accountId, now }),
      ]);
      const actors = await findActors(
        db,
        rows.map(({ created_by }) => created_by),
      );
      return {
        data: rows.map((row) => presentKey(row, row.state, actors)),
        ...cursors,
        activeCount: counts.active,
        maxActive: MAX_ACTIVE_KEYS,
        totalCount: counts.total,
      };
    },

    async createKey(call) {
      const { account, person, body, actor, idempotencyKey, problem, holdAccess } = call;
      const { accountId } = account;
      const now = clock.now();
      const days = body.expiresInDays ?? null;
      const expiresAt = days === null ? null : new Date(now.getTime() + days * DAY_MS);
      const name = body.name.trim();
      const wish = { accountId, name, scopes: body.scopes, expiresAt, actor, now };
      refuseFields({
        name: judgeName(name),
        scopes: body.scopes.length === 0 ? ["Choose at least one scope."] : [],
      });
      const created = await db.transaction(async (tx) => {
        await holdAccess(tx);
        const form = { userId: person.userId, key: idempotencyKey, operation: "createKey", now };
        if (!(await takeFormKey(tx, form)).isFirst) throw problem("KEY_ALREADY_CREATED");
        const made = await createKey(within(tx), wish);
        if (made.outcome === "limit_reached") throw problem("KEY_LIMIT_REACHED");
        if (made.outcome === "account_unknown") throw problem("ACCOUNT_NOT_FOUND");
        return made;
      });
      const { keyId, key } = created;
      const row: KeyRow = {
        key_id: keyId,
        account_id: accountId,
        name,
        prefix: keyPrefix(key),
        scopes: [...new Set(body.scopes)],
        created_at: now,
        created_by: actor.name,
        expires_at: expiresAt,
        revoked_at: null,
        last_used_at: null,
      };
      const actors = await findActors(db, [actor.name]);
      const state = days !== null && days <= EXPIRES_SOON_DAYS ? "expires_soon" : "active";
      return { ...presentKey(row, state, actors), key };
    },

    async revokeKey({ account: { accountId }, params, actor, problem }) {
      const now = clock.now();
      const revoked = await revokeKey(db, { keyId: params.keyId, accountId, actor, now });
      if (revoked.outcome === "unknown") throw problem("KEY_NOT_FOUND");
      const actors = await findActors(db, [revoked.key.created_by]);
      return presentKey(revoked.key, "revoked", actors);
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Asking for active keys includes those that expire soon. */
function widen(state: KeyState): KeyState[] {
  return state === "active" ? ["active", "expires_soon"] : [state];
}

function presentKey(row: KeyRow, state: KeyState, actors: ActorNames): ApiKey {
  return {
    keyId: row.key_id,
    name: row.name,
    mask: maskKey(row.prefix),
    scopes: row.scopes,
    state,
    createdAt: row.created_at.toISOString(),
    createdBy: actors(row.created_by),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    expiresAt: row.expires_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  };
}
