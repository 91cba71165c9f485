import type {
  BodyOf,
  Detail,
  ErrorCode,
  ErrorsOf,
  Operation,
  ParamsOf,
  QueryOf,
  SuccessOf,
} from "#contract";
import { Problem } from "./problem.ts";

/** The caller, as identified by the key. */
export type Caller = {
  /** Null if the caller is a signed-in user. */
  keyId: string | null;
  /** The session of the signed-in user. A change stored after it has ended would be nobody's. */
  sessionId?: string;
  /** The signed-in user, as the audit log stores it. */
  actor?: { name: string; address: string | null; requestId: string };
  accountId: string;
  scopes: readonly string[];
};

/** How much more a caller may do right now, for the RateLimit headers. */
export type Allowance = { rate: number; burst: number; tokens: number };

export type Call<O extends Operation> = {
  caller: Caller;
  params: ParamsOf<O>;
  query: QueryOf<O>;
  body: BodyOf<O>;
  /** The raw `Idempotency-Key` header; empty if it was given more than once. */
  idempotencyKey: string | undefined;
  /** Makes an error that this operation declares. */
  problem: (code: ErrorsOf<O>, details?: Detail[]) => Problem;
  /** Adds a header to the answer. */
  header: (name: string, value: string) => void;
  /** Reports what is left of the allowance, as returned by the statement that did the work. */
  allowance: (left: Allowance) => void;
};

export type Handler<O extends Operation> = (call: Call<O>) => Promise<SuccessOf<O>>;

/** One handler per declared operation: a missing one, or one with a wrong answer, does not compile. */
export type Handlers<Operations extends Record<string, Operation>> = {
  [Name in keyof Operations]: Handler<Operations[Name]>;
};

/**
 * Names what else is wrong with a body whose shape is wrong, so that the client learns everything
 * at once. `wrong` holds the fields that were already named.
 */
export type Refinement = (body: unknown, wrong: ReadonlySet<string>) => Promise<Detail[]>;

/** The database's current verdict on a key. */
export type KeyVerdict =
  | { outcome: "valid"; caller: Caller; sends: Allowance; reads: Allowance; isGranted: boolean }
  | { outcome: "unknown" | "revoked" | "expired" }
  /** Too many keys are waiting to be looked up already. */
  | { outcome: "queue_full" };

export type Authenticator = {
  /** What this node remembers of the key. It may save a lookup, but never decides. */
  recall(key: string): Caller | undefined;
  /** Asks the database. If `takesRead`, also takes one read from the key's allowance. */
  lookUp(key: string, takesRead: boolean): Promise<KeyVerdict>;
};

export const keyProblems = {
  unknown: "API_KEY_INVALID",
  revoked: "API_KEY_REVOKED",
  expired: "API_KEY_EXPIRED",
} as const satisfies Record<string, ErrorCode>;
