import { type Static, type TObject, type TSchema, Type } from "typebox";
import type { ErrorCode } from "./errors.ts";
import { closed, Id, nullable, oneOf } from "./schema.ts";
import type { MemberRole } from "./words.ts";

/**
 * Who may call an operation. `setup`: anybody, but only while there is no operator. `public`: no
 * session needed. `pending`: a session that may still lack its second factor. `user`: any open
 * session. A member role: that role or a higher one in the account of the path. `operator`:
 * operators; for everybody else the operation does not exist.
 */
export type Access = "setup" | "public" | "pending" | "user" | MemberRole | "operator";

/** Something that a signed-in user can do, as data. Routes, client types and tests use it. */
export type ConsoleOperation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Has `{name}` for each path parameter. */
  path: string;
  summary: string;
  access: Access;
  /** Needs a password or code that was given within the last 10 minutes. */
  proof?: true;
  /** The action in the audit log. Each call that changes something leaves one such entry. */
  audit?: string;
  /** Optional request headers in lower case, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  success: {
    status: number;
    body: TSchema;
    /** JSON if left out. */
    type?: "text/csv" | "text/event-stream";
  };
  /** In addition to `consoleEverywhere`, which any operation may answer. */
  errors?: readonly ErrorCode[];
};

export const isMore = Type.Boolean({
  description:
    "Counting stopped, which it does after about 100,000 in all: there are at least as many as said.",
});

/** The errors that any operation of the dashboard may answer. */
export const consoleEverywhere = [
  "REQUEST_INVALID",
  "JSON_INVALID",
  "SESSION_REQUIRED",
  "SECOND_FACTOR_REQUIRED",
  "ORIGIN_DENIED",
  "ROLE_DENIED",
  "PROOF_REQUIRED",
  "ACCOUNT_NOT_FOUND",
  "ROUTE_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "BODY_TOO_LARGE",
  "CONTENT_TYPE_UNSUPPORTED",
  "VALIDATION_FAILED",
  "RATE_LIMITED",
  "HEADERS_TOO_LARGE",
  "INTERNAL",
  "UNAVAILABLE",
] as const satisfies readonly ErrorCode[];

/** Keeps the literal types of the declaration, so that handlers and the client are typed by it. */
export function consoleOperation<const O extends ConsoleOperation>(declared: O): O {
  return declared;
}

/** The path of an account, and the prefix of everything inside it. */
export const ACCOUNT = "/console/accounts/{accountId}";
/** The path of everything that concerns the whole installation. */
export const OPERATOR = "/console/operator";

export const IDEMPOTENCY = {
  "idempotency-key": "Made once when a form opens, so that pressing its button twice does it once.",
} as const;

/** The parameters of a path inside an account. */
export function inAccount<const Names extends string[]>(...names: Names) {
  type Properties = Record<Names[number] | "accountId", typeof Id>;
  const properties = Object.fromEntries(["accountId", ...names].map((name) => [name, Id]));
  return closed(properties as Properties);
}

/** The version that a change is based on. Its maximum is that of PostgreSQL's integer. */
export const SeenVersion = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });

/** The query parameters of every list, in addition to its filters. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
  cursor: Type.Optional(
    Type.String({
      description: "`nextCursor` or `previousCursor` of a page with the same filters.",
    }),
  ),
};

const Cursor = nullable(Type.String());

/** A page of a list. `nextCursor` leads to older entries, `previousCursor` to newer ones. */
export function pageOf<T extends TSchema, P extends Record<string, TSchema> = Record<never, never>>(
  entry: T,
  beside: P = {} as P,
) {
  return Type.Object({
    data: Type.Array(entry),
    nextCursor: Cursor,
    previousCursor: Cursor,
    ...beside,
  });
}

/** The answer of an operation that returns nothing. */
export const NOTHING = { status: 204, body: Type.Null() } as const;

/** Who did something, in readable form. */
export const Actor = Type.Object({
  kind: oneOf(["user", "key", "cli", "system"]),
  name: Type.String({ description: "The user's name, or Terminal, or Posthorn." }),
});
export type Actor = Static<typeof Actor>;
