import type { Clock, Database, Log, Secret, SecretBox } from "#platform";
import type { Inputs, Values } from "./input.ts";
import type { Terminal } from "./terminal.ts";

/** One command of the command line, as data: help, checks, docs and dispatch are made from it. */
export type Command<Arguments extends Inputs = Inputs, Options extends Inputs = Inputs> = {
  /** The words that call it, such as `account create`. */
  name: string;
  summary: string;
  /** The keys name the values in `run`; the last argument may be repeatable. */
  arguments: Arguments;
  options: Options;
  /** The shape of its JSON; null if it prints none. */
  prints: string | null;
  /** Without the program's name. */
  examples: readonly string[];
  /** Further help, such as the list of settings. */
  details?: (program: Program) => string;
  /** It runs until a stop signal, and ends by itself on one. */
  isService?: boolean;
  /** The result; undefined if the command wrote its own output. */
  run(given: Values<Arguments> & Values<Options>, context: Context): Promise<Result | undefined>;
};

/** A command's result, for programs and for people. */
export type Result = {
  json: object;
  text: string;
  /** The command worked but found something bad: the exit code says so. */
  isFault?: boolean;
};

/** A command whose input types are known only to itself. */
export type AnyCommand = Omit<Command, "run"> & {
  run(given: Record<string, unknown>, context: Context): Promise<Result | undefined>;
};

/** Infers the types of the inputs, so that `run` is typed by them. */
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

/** What the command line needs to know of the program. */
export type Program = {
  version: string;
  clock: Clock;
  /** In the form that the reference page shows. */
  settings: readonly SettingText[];
  start(): Promise<void>;
  /** Throws one error that names every wrong setting. */
  readSettings(): Settings;
  /** The path of the settings file, if it holds a secret. */
  fileWithSecrets(): string | undefined;
  open(migrations: MigrationsMode): Promise<Installation>;
  /** Aborts on the first stop signal; calling it registers the handlers. */
  stopSignal(): AbortSignal;
};

export type SettingText = { name: string; fallback: string; meaning: string };

/** Whether missing migrations are an error, are applied, or are ignored. */
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

/** The database of an installation: that of a running service, or one started for this command. */
export type Installation = {
  settings: Settings;
  /** The address where people find the dashboard. */
  publicUrl: string;
  url: string;
  isEmbedded: boolean;
  /** No service runs on this data folder, and none can start before the command has ended. */
  isAlone: boolean;
  /**
   * Whether a lost database is back. An embedded one is checked by its process: another program may
   * have taken its port, and must not be sent the password.
   */
  isBack(): Promise<boolean>;
  db: Database;
  log: Log;
  /** The migrations that opening it has applied. */
  applied: readonly string[];
  compareMigrations(): Promise<{ missing: string[]; newer: string[] }>;
  /** Seals and opens secrets; fails if our key is not the one this database is used with. */
  secrets(): Promise<SecretBox>;
  close(): Promise<void>;
};

/** A command's expected failure: one sentence that says what to do, shown without a stack trace. */
export class CommandFailure extends Error {
  override name = "CommandFailure";
}

/** What was typed cannot be right, whatever the installation holds: the exit code says so. */
export class WrongCall extends CommandFailure {
  override name = "WrongCall";
}

/** The actor in the audit log for everything done in the terminal. */
export const ACTOR = "cli";
