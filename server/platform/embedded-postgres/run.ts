import { type ExecFileException, execFile } from "node:child_process";
import type { Account } from "./account.ts";
import { Unfit } from "./unfit.ts";

/** Without our own environment, which holds secrets and PG… variables that affect PostgreSQL. */
export const CLEAN_ENVIRONMENT = { LC_ALL: "C", PATH: "/usr/bin:/bin" };

/** Far longer than initdb takes on a slow disk. */
const LIMIT_MS = 120_000;

type Options = { account: Account | undefined; folder: string; input?: string };

/** Runs one of PostgreSQL's programs until it ends, and returns what it printed. */
export function run(program: string, args: string[], options: Options): Promise<string> {
  const { account, folder, input = "" } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { cwd: folder, env: CLEAN_ENVIRONMENT, timeout: LIMIT_MS, windowsHide: true, ...account },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(failure(program, error, stderr));
      },
    );
    // A program that ends before it has read all its input says why on its standard error.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}

function failure(program: string, error: ExecFileException, stderr: string): Error {
  const reason = stderr.trim().split("\n").at(-1) || error.message;
  const [, nameless] = /could not look up effective user ID (\d+)/.exec(reason) ?? [];
  if (nameless === undefined) {
    return new Error(`${program} failed: ${reason}`, { cause: error });
  }
  return new Unfit(
    `PostgreSQL cannot be set up by the user id ${nameless}, which has no name on this system (in /etc/passwd). Run Posthorn as a user that has one, or set DATABASE_URL to a PostgreSQL of your own.`,
  );
}
