import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import type { Scope } from "./words.ts";

/** Something that a client can do, as data. Routes, validation, types, docs and tests use it. */
export type Operation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Has `{name}` for each path parameter. */
  path: string;
  summary: string;
  description?: string;
  scope: Scope;
  /** The allowance that a call uses: the account's sends or the key's reads. */
  rate: "sends" | "reads";
  /** Optional request headers in lower case, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  success: { status: number; body: TSchema; headers?: readonly string[] };
  /** In addition to `everywhere`, which any operation may answer. */
  errors: readonly ErrorCode[];
};

/** The errors that any operation may answer. */
export const everywhere = [
  "REQUEST_INVALID",
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "API_KEY_REVOKED",
  "API_KEY_EXPIRED",
  "API_KEY_SCOPE_DENIED",
  "ROUTE_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "RATE_LIMITED",
  "QUEUE_FULL",
  "HEADERS_TOO_LARGE",
  "INTERNAL",
  "UNAVAILABLE",
] as const satisfies readonly ErrorCode[];

/** Keeps the literal types of the declaration, so that handlers are typed by it. */
export function operation<const O extends Operation>(declared: O): O {
  return declared;
}

/** What all operations have in common, including those of the dashboard. */
type Declared = Pick<Operation, "params" | "query" | "body"> & { success: { body: TSchema } };

export type BodyOf<O extends Declared> = O["body"] extends TSchema ? Static<O["body"]> : undefined;
export type QueryOf<O extends Declared> = O["query"] extends TSchema
  ? Static<O["query"]>
  : undefined;
export type ParamsOf<O extends Declared> = O["params"] extends TSchema
  ? Static<O["params"]>
  : undefined;
export type SuccessOf<O extends Declared> = Static<O["success"]["body"]>;
export type ErrorsOf<O extends Operation> = O["errors"][number] | (typeof everywhere)[number];
