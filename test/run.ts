/**
 * `npm test`: format, lint, types, dead code, then every test, on one PostgreSQL made for the run.
 * `npm test -- test/api` runs only the tests whose path begins with that.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { glob } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { startTestPostgres } from "./support/postgres-server.ts";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules", ".bin");

const checks = [
  ["format", "oxfmt", "--check", "."],
  ["lint", "oxlint", "--type-aware", "--deny-warnings", "."],
  ["types", "tsc", "--noEmit", "-p", "."],
  ["types of the dashboard", "tsc", "--noEmit", "-p", "dashboard"],
  ["dead code", "knip", "--no-progress"],
] as const;

/** Files run beside each other; those that start processes and wait for them leave the cores to others. */
const CONCURRENCY = 2;

const wanted = process.argv.slice(2);
if (wanted.length === 0) {
  for (const [name, command, ...args] of checks) await check(name, command, args);
}
const files = await testFiles(wanted);
if (files.length === 0) {
  // Without a file, node would look for tests of its own, and run them all.
  process.stderr.write(`No test's path begins with ${wanted.join(" or ")}.\n`);
  process.exit(1);
}
process.exitCode = await runTests(files);

async function check(name: string, command: string, args: readonly string[]): Promise<void> {
  const began = performance.now();
  const code = await runProcess(join(BIN, command), args, {});
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`${code === 0 ? "✔" : "✖"} ${name} (${seconds} s)\n`);
  if (code !== 0) process.exit(1);
}

async function testFiles(prefixes: string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob("{contract,server,sdk,dashboard,test,bench,docs}/**/*.test.ts", {
    cwd: ROOT,
    exclude: (name) => name === "dist",
  })) {
    if (prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix)))
      files.push(file);
  }
  return files.toSorted();
}

async function runTests(files: string[]): Promise<number> {
  await using postgres = await startTestPostgres();
  return await runProcess(
    process.execPath,
    ["--test", `--test-concurrency=${CONCURRENCY}`, "--test-reporter=spec", ...files],
    postgres.environment,
  );
}

async function runProcess(
  command: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<number> {
  const path = [BIN, process.env["PATH"]].join(delimiter);
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, PATH: path, ...environment },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
