import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import type { Scope } from "./words.ts";

/** One thing a client can do, as data: routes, validation, types, docs and tests are made from it. */
export type Operation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `{name}` for each path parameter. */
  path: string;
  summary: string;
  description?: string;
  scope: Scope;
  /** Which allowance a call draws on: the account's sends, or the key's reads. */
  rate: "sends" | "reads";
  /** Optional request headers, in lower case, with their description. */
  headers?: Readonly<Record<string, string>>;
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  success: { status: number; body: TSchema; headers?: readonly string[] };
  /** Beyond `everywhere`, which any operation may answer. */
  errors: readonly ErrorCode[];
};

/** What any operation may answer. */
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

/** Keeps the literal types of what is declared, so that handlers can be typed by it. */
export function operation<const O extends Operation>(declared: O): O {
  return declared;
}

/** What operations have in common, those of the dashboard too. */
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
