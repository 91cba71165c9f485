import type { Clock, Database, Log, Secret, SecretBox } from "#platform";
import type { Inputs, Values } from "./input.ts";
import type { Terminal } from "./terminal.ts";

/** One thing the command line can do, as data: help, checks, docs and dispatch are made from it. */
export type Command<Arguments extends Inputs = Inputs, Options extends Inputs = Inputs> = {
  /** The words that call it, such as `account create`. */
  name: string;
  summary: string;
  /** Keys are the placeholders' names in `run`; the last may be repeatable. */
  arguments: Arguments;
  options: Options;
  /** The shape of its JSON; null where it prints none. */
  prints: string | null;
  /** Without the name of the program. */
  examples: readonly string[];
  /** Further help, such as the list of settings. */
  details?: (program: Program) => string;
  /** It runs until a stop signal, and ends by itself when one comes. */
  isService?: boolean;
  /** What it did; undefined where it wrote its own output. */
  run(given: Values<Arguments> & Values<Options>, context: Context): Promise<Result | undefined>;
};

/** What a command has to say: for programs, and for people. */
export type Result = {
  json: object;
  text: string;
  /** The command worked, and what it found is bad: the exit code says so. */
  isFault?: boolean;
};

/** A command whose inputs are known only to itself. */
export type AnyCommand = Omit<Command, "run"> & {
  run(given: Record<string, unknown>, context: Context): Promise<Result | undefined>;
};

/** Keeps the types of the inputs, so that `run` is typed by them. */
export function command<
  const Arguments extends Inputs = Record<never, never>,
  const Options extends Inputs = Record<never, never>,
>(
  declared: Omit<Command<Arguments, Options>, "arguments" | "options"> & {
    arguments?: Arguments;
    options?: Options;
  },
): AnyCommand {
  return { arguments: {}, options: {}, ...declared };
}

export type Context = {
  program: Program;
  clock: Clock;
  terminal: Terminal;
  /** Aborted by a stop signal. */
  signal: AbortSignal;
  /** The installation, opened on first use and closed after the command. */
  installation(migrations?: MigrationsMode): Promise<Installation>;
};

/** What the program is made of, as far as its command line must know. */
export type Program = {
  version: string;
  clock: Clock;
  /** As the reference page shows them. */
  settings: readonly SettingText[];
  start(): Promise<void>;
  /** Throws one error that names every wrong setting. */
  readSettings(): Settings;
  open(migrations: MigrationsMode): Promise<Installation>;
  /** Aborts on the first stop signal; registers for it when it is called. */
  stopSignal(): AbortSignal;
};

export type SettingText = { name: string; fallback: string; meaning: string };

/** A database that lacks migrations is refused, brought up to date, or taken as it is. */
export type MigrationsMode = "required" | "apply" | "unchecked";

/** The settings that commands use. */
export type Settings = {
  host: string;
  port: number;
  dataDir: string;
  databaseUrl: Secret | undefined;
  publicUrl: string | undefined;
  secretKey: Secret | undefined;
  secretKeyPrevious: Secret | undefined;
  webhookAllowCidrs: string[] | undefined;
  webhookAllowHttp: boolean | undefined;
  webhookShowPrivateAnswers: boolean | undefined;
  rateLimitSends: number;
  rateLimitSendsBurst: number;
  trustProxy: string[];
  metricsListen: { host: string; port: number } | undefined;
  tracesEndpoint: string | undefined;
  retentionMessagesDays: number;
  redactTextDays: number;
};

/** The database of an installation: a running service's, or started for the occasion. */
export type Installation = {
  settings: Settings;
  /** Where people find the dashboard. */
  publicUrl: string;
  url: string;
  isEmbedded: boolean;
  /** No service runs on this data folder, and none can start before the command ends. */
  isAlone: boolean;
  /**
   * Whether the database that was away is there again. The embedded one is asked for by its process: a
   * port that it left may be somebody else's, who must not be shown the password.
   */
  isBack(): Promise<boolean>;
  db: Database;
  log: Log;
  /** What opening it has applied. */
  applied: readonly string[];
  compareMigrations(): Promise<{ missing: string[]; newer: string[] }>;
  /** Seals and opens secrets; fails where the key at hand is not the one this database is used with. */
  secrets(): Promise<SecretBox>;
  close(): Promise<void>;
};

/** An expected end of a command: one sentence that says what to do, shown without a stack. */
export class CommandFailure extends Error {
  override name = "CommandFailure";
}

/** Who the audit log names for what is done from the terminal. */
export const ACTOR = "cli";
