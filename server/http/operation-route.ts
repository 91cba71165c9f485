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

/** Who calls, as the key says. */
export type Caller = {
  /** Null for a person who is signed in. */
  keyId: string | null;
  /** The person, as the audit log keeps it. */
  actor?: { name: string; address: string | null; requestId: string };
  accountId: string;
  scopes: readonly string[];
};

/** What a caller may still do at once, for the RateLimit headers. */
export type Allowance = { rate: number; burst: number; tokens: number };

export type Call<O extends Operation> = {
  caller: Caller;
  params: ParamsOf<O>;
  query: QueryOf<O>;
  body: BodyOf<O>;
  /** The raw `Idempotency-Key` header. */
  idempotencyKey: string | undefined;
  /** Makes an error that this operation declares. */
  problem: (code: ErrorsOf<O>, details?: Detail[]) => Problem;
  /** Adds a header to the answer. */
  header: (name: string, value: string) => void;
  /** What the statement that did the work says is left of the allowance. */
  allowance: (left: Allowance) => void;
};

export type Handler<O extends Operation> = (call: Call<O>) => Promise<SuccessOf<O>>;

/** One handler per declared operation: a missing one, or one with a wrong answer, does not compile. */
export type Handlers<Operations extends Record<string, Operation>> = {
  [Name in keyof Operations]: Handler<Operations[Name]>;
};

/**
 * Names what else is wrong with a body whose shape is wrong, so that the client learns of everything
 * at once. `wrong` holds the fields that are already named.
 */
export type Refinement = (body: unknown, wrong: ReadonlySet<string>) => Promise<Detail[]>;

/** Whether a key is good, as the database has it now. */
export type KeyVerdict =
  | { outcome: "valid"; caller: Caller; sends: Allowance; reads: Allowance; isGranted: boolean }
  | { outcome: "unknown" | "revoked" | "expired" }
  /** More keys wait to be looked up than can be held. */
  | { outcome: "queue_full" };

export type Authenticator = {
  /** What this node remembers of the key. It may spare the lookup; it never decides. */
  recall(key: string): Caller | undefined;
  /** Asks the database, and takes one read from the key's allowance where `takesRead`. */
  lookUp(key: string, takesRead: boolean): Promise<KeyVerdict>;
};

export const keyProblems = {
  unknown: "API_KEY_INVALID",
  revoked: "API_KEY_REVOKED",
  expired: "API_KEY_EXPIRED",
} as const satisfies Record<string, ErrorCode>;
