import { type Static, type TObject, type TSchema, Type } from "typebox";
import type { ErrorCode } from "./errors.ts";
import { closed, Id, nullable, oneOf } from "./schema.ts";
import type { MemberRole } from "./words.ts";

/**
 * Who may call an operation: `setup` exists only while there is no operator, `public` needs no session,
 * `pending` one that may still lack its second factor, `user` any open session; a member role stands
 * for itself and those above it in the account of the path; to all but operators, an operator's
 * operation does not exist.
 */
export type Access = "setup" | "public" | "pending" | "user" | MemberRole | "operator";

/** One thing a signed-in person can do, as data: routes, client types and the test matrix are made from it. */
export type ConsoleOperation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `{name}` for each path parameter. */
  path: string;
  summary: string;
  access: Access;
  /** Needs a password or code given within the last 10 minutes. */
  proof?: true;
  /** What the audit log says of it; each call that changes something leaves one such row. */
  audit?: string;
  /** Optional request headers, in lower case, with their description. */
  headers?: Readonly<Record<string, string>>;
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  success: {
    status: number;
    body: TSchema;
    /** JSON where it is left out. */
    type?: "text/csv" | "text/event-stream";
  };
  /** Beyond `consoleEverywhere`, which any operation may answer. */
  errors?: readonly ErrorCode[];
};

export const isMore = Type.Boolean({
  description:
    "Counting stopped, which it does after about 100,000 in all: there are at least as many as said.",
});

/** What any operation of the dashboard may answer. */
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

/** Keeps the literal types of what is declared, so that handlers and the client can be typed by it. */
export function consoleOperation<const O extends ConsoleOperation>(declared: O): O {
  return declared;
}

/** The path of an account, before what is in it. */
export const ACCOUNT = "/console/accounts/{accountId}";
/** The path of what concerns the whole installation. */
export const OPERATOR = "/console/operator";

export const IDEMPOTENCY = {
  "idempotency-key": "Made once when a form opens, so that pressing its button twice does it once.",
} as const;

/** Parameters of a path inside an account. */
export function inAccount<const Names extends string[]>(...names: Names) {
  type Properties = Record<Names[number] | "accountId", typeof Id>;
  const properties = Object.fromEntries(["accountId", ...names].map((name) => [name, Id]));
  return closed(properties as Properties);
}

/** The version that a change was made from, as it was read; PostgreSQL's integer is the most it can be. */
export const SeenVersion = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });

/** Query parameters of a list, beside its filters. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
  cursor: Type.Optional(
    Type.String({
      description: "`nextCursor` or `previousCursor` of a page with the same filters.",
    }),
  ),
};

const Cursor = nullable(Type.String());

/** A page of a list: older entries are behind `nextCursor`, newer ones behind `previousCursor`. */
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

/** The answer of an operation that has nothing to say. */
export const NOTHING = { status: 204, body: Type.Null() } as const;

/** Who did something, as people read it. */
export const Actor = Type.Object({
  kind: oneOf(["user", "key", "cli", "system"]),
  name: Type.String({ description: "The user's name, or Terminal, or Posthorn." }),
});
export type Actor = Static<typeof Actor>;
