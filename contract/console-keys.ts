import { type Static, Type } from "typebox";
import {
  ACCOUNT,
  Actor,
  consoleOperation,
  IDEMPOTENCY,
  inAccount,
  pageOf,
  paging,
} from "./console-operation.ts";
import { closed, Id, nullable, oneOf, Time } from "./schema.ts";
import { scopes } from "./words.ts";

const keyStates = ["active", "expires_soon", "expired", "revoked"] as const;

/** A key "expires soon" if it has at most this many days left. */
export const EXPIRES_SOON_DAYS = 7;

const key = {
  keyId: Id,
  name: Type.String(),
  mask: Type.String({ description: "First 8 characters and eight dots; the same everywhere." }),
  scopes: Type.Array(oneOf(scopes)),
  state: oneOf(keyStates),
  createdAt: Time,
  createdBy: Actor,
  lastUsedAt: nullable(Time),
  expiresAt: nullable(Time),
  revokedAt: nullable(Time),
};

export const ApiKey = Type.Object(key);
export type ApiKey = Static<typeof ApiKey>;

export const keyOperations = {
  listKeys: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/keys`,
    summary: "List keys, newest first",
    access: "viewer",
    params: inAccount(),
    query: closed({
      ...paging,
      state: Type.Optional(
        Type.Array(oneOf(keyStates), {
          description: "Repeatable. `active` includes those that expire soon.",
        }),
      ),
    }),
    success: {
      status: 200,
      body: pageOf(ApiKey, {
        activeCount: Type.Integer(),
        maxActive: Type.Integer(),
        totalCount: Type.Integer({ description: "Of all keys, whatever the filter." }),
      }),
    },
    errors: ["CURSOR_INVALID"],
  }),
  createKey: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/keys`,
    summary: "Create a key; the only answer that ever holds one",
    access: "developer",
    proof: true,
    audit: "key.created",
    headers: IDEMPOTENCY,
    params: inAccount(),
    body: closed(
      {
        name: Type.String({ description: "1 to 60 characters." }),
        scopes: Type.Array(oneOf(scopes)),
        expiresInDays: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 3650 }))),
      },
      { examples: [{ name: "Web shop", scopes: ["messages:send"], expiresInDays: 90 }] },
    ),
    success: {
      status: 201,
      body: Type.Object({ ...key, key: Type.String({ description: "The full key, this once." }) }),
    },
    errors: ["IDEMPOTENCY_KEY_INVALID", "KEY_LIMIT_REACHED", "KEY_ALREADY_CREATED"],
  }),
  revokeKey: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/keys/{keyId}/revoke`,
    summary: "Revoke a key, in force at once",
    access: "developer",
    audit: "key.revoked",
    params: inAccount("keyId"),
    success: { status: 200, body: ApiKey },
    errors: ["KEY_NOT_FOUND"],
  }),
};
