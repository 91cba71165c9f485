import type {
  BodyOf,
  ConsoleErrors,
  ConsoleOperation,
  ConsoleOperations,
  Detail,
  MemberRole,
  ParamsOf,
  QueryOf,
  SuccessOf,
} from "#contract";
import type { RemoteActor } from "#accounts";
import type { Problem } from "#http";
import type { Transaction } from "#platform";
import type { StreamSink } from "./stream/event-stream.ts";

/** Who is signed in. */
export type Person = {
  sessionId: string;
  userId: string;
  name: string;
  email: string;
  isOperator: boolean;
  isPending: boolean;
  provenAt: Date;
};

type PersonOf<O extends ConsoleOperation> = O["access"] extends "public" | "setup"
  ? Person | undefined
  : Person;

type AccountOf<O extends ConsoleOperation> = O["access"] extends MemberRole
  ? { accountId: string; role: MemberRole }
  : undefined;

export type ConsoleCall<O extends ConsoleOperation> = {
  person: PersonOf<O>;
  /** The account of the path, and the person's role in it. */
  account: AccountOf<O>;
  /**
   * Call it first in a transaction that gives out something that outlasts the role. The lock order,
   * which prevents deadlocks: all members (if at all), then this, then accounts.
   */
  holdAccess: (tx: Transaction) => Promise<void>;
  actor: RemoteActor;
  params: ParamsOf<O>;
  query: QueryOf<O>;
  body: BodyOf<O>;
  /** The raw `Idempotency-Key` header. */
  idempotencyKey: string | undefined;
  address: string;
  userAgent: string | null;
  /** Makes an error that this operation declares. */
  problem: (code: ConsoleErrors<O>, details?: Detail[]) => Problem;
  header: (name: string, value: string) => void;
};

/** Lines of a CSV file, written as they are made. */
export type CsvAnswer = { fileName: string; lines: AsyncIterable<string> };

/** An open stream. */
export type StreamAnswer = (sink: StreamSink) => void;

type AnswerOf<O extends ConsoleOperation> = O["success"] extends { type: "text/csv" }
  ? CsvAnswer
  : O["success"] extends { type: "text/event-stream" }
    ? StreamAnswer
    : SuccessOf<O>;

export type ConsoleHandler<O extends ConsoleOperation> = (
  call: ConsoleCall<O>,
) => Promise<AnswerOf<O>>;

/** Handlers of some of the dashboard's operations; all of them together must be complete. */
export type ConsoleHandlers<Names extends keyof ConsoleOperations = keyof ConsoleOperations> = {
  [Name in Names]: ConsoleHandler<ConsoleOperations[Name]>;
};
