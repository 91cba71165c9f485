import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive } from "./embedded-postgres/processes.ts";
import { cannotOpen, Unfit } from "./embedded-postgres/unfit.ts";
import { codeOf } from "./error-text.ts";

/** Proof that this process alone may use the data folder. */
export type DataDirLock = { readonly dataDir: string; release(): void };

/** What a process uses the folder for: a command briefly, a service for a long time. */
export type DataDirUse = "service" | "command";

/** Another process is using the data folder. */
export class DataDirInUse extends Unfit {
  override name = "DataDirInUse";
  readonly isByCommand: boolean;

  constructor(message: string, { isByCommand }: { isByCommand: boolean }) {
    super(message);
    this.isByCommand = isByCommand;
  }
}

/**
 * Locks the data folder for this process, and creates it if it is missing. Throws `Unfit` with the
 * pid of the process that has it. The operating system drops the lock when the process ends in any
 * way, so no stale lock remains, and no pid is mistaken for another process.
 */
export function lockDataDir(dataDir: string, use: DataDirUse = "service"): DataDirLock {
  refuseLongPath(dataDir);
  makeFolder(dataDir);
  const file = takeLock(dataDir);
  try {
    writeFileSync(pidFileIn(dataDir), `${process.pid} ${use}\n`);
  } catch (error) {
    file.close();
    throw cannotOpen(pidFileIn(dataDir), error as NodeJS.ErrnoException);
  }
  return { dataDir, release: () => file.close() };
}

/** SQLite opens no path longer than 504 bytes, including the name of the lock file. */
const LONGEST_PATH = 490;

function refuseLongPath(dataDir: string): void {
  if (Buffer.byteLength(dataDir) <= LONGEST_PATH) return;
  throw new Unfit(
    `The path of the data folder is longer than ${LONGEST_PATH} octets. Set DATA_DIR to a shorter one.`,
  );
}

function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Unfit(
      `The data folder ${dataDir} cannot be made (${codeOf(error)}). Set DATA_DIR to another folder.`,
    );
  }
}

/**
 * How long one of two processes that start together waits for the other to give way. Without this
 * wait, both could be refused. If the holder is known to be alive, nobody waits.
 */
const GIVE_WAY_MS = 500;

/** Node cannot lock files, but its SQLite can, for the duration of a transaction. */
function takeLock(dataDir: string): DatabaseSync {
  let file: DatabaseSync | undefined;
  try {
    file = tryLock(dataDir, 0);
    if (file === undefined && !isHeldByTheLiving(dataDir)) file = tryLock(dataDir, GIVE_WAY_MS);
  } catch (error) {
    const path = lockFileIn(dataDir);
    throw new Unfit(`${path} cannot be locked: ${String(error)}.`, { cause: error });
  }
  if (file === undefined) throw inUse(dataDir);
  return file;
}

/** Undefined if another process has it. */
function tryLock(dataDir: string, timeout: number): DatabaseSync | undefined {
  const file = new DatabaseSync(lockFileIn(dataDir), { timeout });
  try {
    file.exec("pragma journal_mode = memory; begin exclusive");
    return file;
  } catch (error) {
    file.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** Only saves a wait: the pid may belong to another process by now. */
function isHeldByTheLiving(dataDir: string): boolean {
  const { pid } = holder(dataDir);
  return pid !== undefined && isAlive(pid);
}

function inUse(dataDir: string): DataDirInUse {
  const { pid, isByCommand } = holder(dataDir);
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new DataDirInUse(
    `The data folder ${dataDir} is in use by ${who}. Stop it first, or set DATA_DIR to another folder.`,
    { isByCommand },
  );
}

/** The file only names the holder. It is read if the lock is taken, and trusted for no more. */
function holder(dataDir: string): { pid: number | undefined; isByCommand: boolean } {
  const [pid, use] = readPidFile(dataDir).trim().split(" ");
  return { pid: Number(pid) > 0 ? Number(pid) : undefined, isByCommand: use === "command" };
}

function readPidFile(dataDir: string): string {
  try {
    return readFileSync(pidFileIn(dataDir), "utf8");
  } catch {
    return "";
  }
}

function lockFileIn(dataDir: string): string {
  return join(dataDir, "instance.lock");
}

function pidFileIn(dataDir: string): string {
  return join(dataDir, "instance.pid");
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
