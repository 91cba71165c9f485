/**
 * `npm test`: format, lint, types, dead code, then every test, on one PostgreSQL made for the run.
 * `npm test -- test/api` runs only the tests whose path begins with that.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { glob, mkdir, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { buildDashboard } from "../dashboard/build.ts";
import { findBrowser } from "./support/browser.ts";
import { startTestPostgres } from "./support/postgres-server.ts";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules", ".bin");
const CACHE = join(ROOT, "node_modules", ".cache");
process.env["PATH"] = [BIN, process.env["PATH"]].join(delimiter);
// Hundreds of processes load the same modules: compile them once.
process.env["NODE_COMPILE_CACHE"] ??= join(CACHE, "compiled");

/** All at once, each on one thread: more threads would each derive the same types again. */
const checks = [
  ["lint", "oxlint", "--type-aware", "--deny-warnings", "."],
  ["types of the dashboard", "tsc", ...typesOf("dashboard")],
  ["types", "tsc", ...typesOf(".")],
  ["dead code", "knip", "--no-progress"],
  ["format", "oxfmt", "--check", "."],
] as const;
/** Once, beside the checks: otherwise test files would find them missing, and wait. */
const preparations = [
  ["browser for the tests", findBrowser],
  ["dashboard", buildDashboard],
] as const;
/** For oxlint, whose type checker has no option for it. */
const ONE_THREAD = { GOMAXPROCS: "1" };

/** More than there are cores: most files wait for processes, sockets and clocks. */
const CONCURRENCY = 4;
/** A test that never ends must not hold up the run forever. */
const LIMIT_MS = 30 * 60_000;

/** The tests beside a room's code; one process runs them all. */
const ROOM = /^(?:contract|sdk|dashboard|server\/\w+)(?=\/)/;

/**
 * How many files of a folder one process runs, and by which share of the run the last is started:
 * the run must not end up waiting for a file that takes minutes.
 */
const FOLDERS: Record<string, { perProcess: number; within: number }> = {
  "test/browser": { perProcess: 6, within: 0.25 },
  "test/api": { perProcess: 4, within: 0.8 },
  "test/flow": { perProcess: 4, within: 0.6 },
  "test/crash": { perProcess: 1, within: 0.7 },
  "test/cli": { perProcess: 1, within: 0.8 },
};

const wanted = process.argv.slice(2);
if (wanted.length === 0) {
  // Checks start first: unpacking a browser temporarily changes TMPDIR.
  const passed = await Promise.all([
    ...checks.map(([name, ...command]) => told(name, () => isClean(command))),
    ...preparations.map(([name, prepare]) => told(name, () => isReady(prepare))),
  ]);
  if (passed.includes(false)) process.exit(1);
}
const files = await testFiles(wanted);
if (files.length === 0) {
  // Without a file, node would search for tests by itself and run them all.
  process.stderr.write(`No test's path begins with ${wanted.join(" or ")}.\n`);
  process.exit(1);
}
process.exitCode = await runTests(files);

/** Keeps the results of the previous run: without changes, a fifth of the work is left. */
function typesOf(project: string): string[] {
  const kept = join(CACHE, `${project === "." ? "all" : project}.tsbuildinfo`);
  return [
    "--noEmit",
    "--singleThreaded",
    "--incremental",
    "--tsBuildInfoFile",
    kept,
    "-p",
    project,
  ];
}

/** Reports how it went, and how long it took. */
async function told(name: string, work: () => Promise<boolean>): Promise<boolean> {
  const began = performance.now();
  const passed = await work();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`${passed ? "✔" : "✖"} ${name} (${seconds} s)\n`);
  return passed;
}

async function isReady(prepare: () => Promise<unknown>): Promise<boolean> {
  try {
    await prepare();
    return true;
  } catch (error) {
    console.error(error);
    return false;
  }
}

async function isClean([command = "", ...args]: readonly string[]): Promise<boolean> {
  const child = spawn(join(BIN, command), args, {
    cwd: ROOT,
    env: { ...process.env, ...ONE_THREAD },
    stdio: "inherit",
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0;
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
  Object.assign(process.env, postgres.environment);
  // For this run alone: a parallel run may run other tests of the same folders.
  const folder = join(CACHE, `tests-${process.pid}`);
  const processes = mixed(await joined(files, folder));
  const signal = AbortSignal.timeout(LIMIT_MS);
  const tests = run({ cwd: ROOT, files: processes, concurrency: CONCURRENCY, signal });
  let failures = 0;
  tests.on("test:fail", () => (failures += 1));
  const report = tests.compose(spec);
  report.pipe(process.stdout);
  await finished(report);
  await rm(folder, { recursive: true });
  return failures === 0 ? 0 : 1;
}

/** A file to start, and the folder that its tests come from. */
type Process = { file: string; from: string };

/**
 * One process runs several files of a room or folder, each as a suite: starting and warming up a
 * process costs more than most of them do.
 */
async function joined(files: string[], folder: string): Promise<Process[]> {
  await mkdir(folder, { recursive: true });
  const processes: Process[] = [];
  for (const [from, members] of Map.groupBy(files, placeOf)) {
    for (const [index, group] of dealt(members, from).entries()) {
      const file = join(folder, `${from.replaceAll("/", "-")}-${index + 1}.test.mjs`);
      const held = from === "test/browser" ? holdingBrowser() : "";
      await writeFile(file, `${held}${suitesOf(group)}`);
      processes.push({ file, from });
    }
  }
  return processes;
}

function placeOf(file: string): string {
  return ROOM.exec(file)?.[0] ?? dirname(file);
}

/** Deals files like cards: neighbours by name are often alike, and long ones should not meet. */
function dealt(files: string[], from: string): string[][] {
  const perProcess = FOLDERS[from]?.perProcess ?? (ROOM.test(`${from}/`) ? files.length : 1);
  const hands = Math.ceil(files.length / perProcess);
  return [...Map.groupBy(files, (file) => files.indexOf(file) % hands).values()];
}

/** Gives all files of a process one browser, even if each ends before the next begins. */
function holdingBrowser(): string {
  return `import { after } from "node:test";
import { shareBrowser } from ${JSON.stringify(import.meta.resolve("./support/browser.ts"))};
const held = shareBrowser();
after(async () => (await held)[Symbol.asyncDispose]());
`;
}

function suitesOf(files: string[]): string {
  const suites = files.map((file) => {
    const address = pathToFileURL(join(ROOT, file)).href;
    return `describe(${JSON.stringify(file)}, () => import(${JSON.stringify(address)}));\n`;
  });
  return `import { describe } from "node:test";\n${suites.join("")}`;
}

/**
 * Spreads each folder over the whole run: the browser's files keep the cores busy and the others
 * mostly wait, so they complement each other.
 */
function mixed(processes: Process[]): string[] {
  const placed = [...Map.groupBy(processes, ({ from }) => from)].flatMap(([from, members]) => {
    const by = (FOLDERS[from]?.within ?? 1) / members.length;
    return members.map(({ file }, position) => ({ file, share: position * by }));
  });
  return placed.toSorted((a, b) => a.share - b.share).map(({ file }) => file);
}
