import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Unfit } from "./embedded-postgres/unfit.ts";
import { codeOf } from "./error-text.ts";

/** Proof that this process, and no other, may use the data folder. */
export type DataDirLock = { readonly dataDir: string; release(): void };

/** What a process has the folder for: a command has it for moments, a service for long. */
export type DataDirUse = "service" | "command";

/** Another process has the data folder now. */
export class DataDirInUse extends Unfit {
  override name = "DataDirInUse";
  readonly isByCommand: boolean;

  constructor(message: string, { isByCommand }: { isByCommand: boolean }) {
    super(message);
    this.isByCommand = isByCommand;
  }
}

/**
 * Takes the data folder for this process, making it where it is missing, or throws `Unfit` with the
 * pid of the process that has it. The operating system holds the lock and drops it when the process
 * ends, however it ends: nothing stale is left, and no pid is mistaken for another's.
 */
export function lockDataDir(dataDir: string, use: DataDirUse = "service"): DataDirLock {
  refuseLongPath(dataDir);
  makeFolder(dataDir);
  const file = takeLock(dataDir);
  writeFileSync(pidFileIn(dataDir), `${process.pid} ${use}\n`);
  return { dataDir, release: () => file.close() };
}

/** SQLite opens nothing whose path is longer than 504 octets, the name of the lock included. */
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
 * How long one of two that start at the same moment waits for the other to give way: without it, both
 * could be refused. Where the holder is known to live nobody waits.
 */
const GIVE_WAY_MS = 500;

/** Node has no call for a file lock, but its SQLite takes one and keeps it for the transaction's time. */
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

/** Undefined where somebody else has it. */
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

/** Only to save a wait: a pid may be another's by now. */
function isHeldByTheLiving(dataDir: string): boolean {
  const { pid } = holder(dataDir);
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function inUse(dataDir: string): DataDirInUse {
  const { pid, isByCommand } = holder(dataDir);
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new DataDirInUse(
    `The data folder ${dataDir} is in use by ${who}. Stop it first, or set DATA_DIR to another folder.`,
    { isByCommand },
  );
}

/** The file only names the holder; it is read when the lock is held, and never trusted for more. */
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
