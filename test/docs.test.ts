import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { webhookBodies } from "#contract";
import { findCommand } from "../server/cli/find-command.ts";
import { loadCommands } from "../server/cli/index.ts";
import { optionName } from "../server/cli/input.ts";
import { everywhere } from "../server/cli/read-arguments.ts";
import { DEADLINE_MS } from "../server/webhooks/post.ts";
import { REPLAYABLE_MS } from "../server/webhooks/replay.ts";
import { MAX_WAIT_FOR_OPEN_HOST_MS, waitsMs } from "../server/webhooks/schedule.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const pages = globSync("{*.md,{docs,deploy,sdk,bench}/**/*.md}", { cwd: ROOT });
/** The code also contains sentences that tell people what to run. */
const sources = globSync("server/**/*.ts", { cwd: ROOT });

type Line = { path: string; words: string[] };

/** What follows the program's name, up to the end of the command. */
function commandLines(program: string, paths: readonly string[]): Line[] {
  const pattern = new RegExp(`${program}((?: (?:"[^"\\n]*"|[^\\s\`'"|&<>();#]+))*)`, "g");
  return paths.flatMap((path) =>
    [
      ...read(path)
        .replaceAll(/\$\{[^}]*\}/g, "X")
        .matchAll(pattern),
    ].map(([, rest = ""]) => ({
      path,
      words: rest
        .replaceAll(/[[\]]|\.(?= |$)/g, "")
        .split(" ")
        .filter(Boolean),
    })),
  );
}

test("every posthorn command named in the docs or in a message exists, with its options", async () => {
  const commands = await loadCommands();
  const lines = commandLines("npx posthorn", [...pages, ...sources]);

  const problems = lines.flatMap(({ path, words }) => {
    // The bare program, or a placeholder for any command.
    if (words.length === 0 || /^(?:…|X|COMMAND)$/.test(words[0] ?? "")) return [];
    const command = findCommand(commands, words);
    if (!command) return [`${path}: there is no posthorn ${words.join(" ")}`];
    const known = new Set(Object.keys({ ...command.options, ...everywhere }).map(optionName));
    return words
      .filter((word) => word.startsWith("--"))
      .map((word) => word.slice(2).split("=")[0] ?? "")
      .filter((option) => !known.has(option))
      .map((option) => `${path}: ${command.name} has no --${option}`);
  });

  assert.deepEqual(problems, []);
  assert.ok(lines.length > 50, "the pages' commands are found");
});

test("every option named in the guide to carriers exists", async () => {
  const { options = {} } = findCommand(await loadCommands(), ["carrier", "add"]) ?? {};
  const named = [...read("docs/carriers.md").matchAll(/`--([a-z0-9-]+)/g)].map(([, name]) => name);

  const known = new Set(Object.keys(options).map(optionName));
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((name = "") => !known.has(name)),
    [],
  );
});

test("every npm script named in the docs exists, with its options", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const lines = commandLines("npm run", pages);

  const problems = lines.flatMap(({ path, words: [name = "", ...rest] }) => {
    const [, script] = /^node (\S+\.ts)$/.exec(scripts[name] ?? "") ?? [];
    if (scripts[name] === undefined) return [`${path}: there is no npm run ${name}`];
    const text = script === undefined ? "" : read(script);
    return rest
      .filter((word) => /^--\w/.test(word))
      .filter((word) => !new RegExp(`\\b${word.slice(2)}"?: \\{`).test(text))
      .map((word) => `${path}: npm run ${name} has no ${word}`);
  });

  assert.deepEqual(problems, []);
  assert.ok(lines.length > 5, "the pages' scripts are found");
});

test("every link from the docs to a file of the project resolves", () => {
  const problems = pages.flatMap((path) =>
    [...read(path).matchAll(/\]\(([^)\s#:]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(ROOT, dirname(path), target)))
      .map((target) => `${path}: ${target} is not there`),
  );

  assert.deepEqual(problems, []);
});

test("decisions are numbered consecutively, in their file names and titles", () => {
  const names = globSync("docs/decisions/*", { cwd: ROOT }).toSorted();

  assert.ok(names.length > 0);
  names.forEach((name, position) => {
    const number = String(position + 1).padStart(4, "0");
    assert.ok(name.startsWith(`docs/decisions/${number}-`), `${name} is number ${number}`);
    assert.ok(read(name).startsWith(`# ${number}: `), `the title of ${name} begins with ${number}`);
  });
});

test("the table for Citus lists every table", () => {
  const [, citus = ""] = /\*\*Citus\*\*([\s\S]*?)\n## /.exec(read("docs/operating.md")) ?? [];
  const tables = [...read("migrations/schema.sql").matchAll(/^create (?:unlogged )?table (\w+)/gm)];

  assert.ok(tables.length > 40);
  assert.deepEqual(
    tables.map(([, name]) => name).filter((name) => !citus.includes(`\`${name}\``)),
    [],
  );
});

test("the guide for receivers lists every event with its actual fields", () => {
  const guide = read("docs/verify-webhooks.md");
  const names = (cells: string) => [...cells.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
  const shared = names(/^`event`.*$/m.exec(guide)?.[0] ?? "");
  const rows = [...guide.matchAll(/^\| `(message\.\w+)` \| `(\w+)` \|(.*)\|$/gm)];

  assert.deepEqual(
    rows.map(([, event, status, more = ""]) => [event, status, ...shared, ...names(more)]),
    Object.entries(webhookBodies).map(([event, { properties }]) => [
      event,
      properties.status.const,
      ...Object.keys(properties),
    ]),
  );
});

test("the guide for receivers describes the actual retries", () => {
  const [, retries = ""] = /## Retries([\s\S]*?)\n## /.exec(read("docs/verify-webhooks.md")) ?? [];
  const [, waits = ""] = /^\| waits \| – \|(.*)\|$/m.exec(retries) ?? [];

  assert.deepEqual(waits.split("|").map(inMs), [...waitsMs]);
  assert.equal(inMs(/attempt may take \*\*(.*?)\*\*/.exec(retries)?.[1]), DEADLINE_MS);
  assert.equal(inMs(/for up to (.*?)\./.exec(retries)?.[1]), MAX_WAIT_FOR_OPEN_HOST_MS);
  assert.equal(inMs(/For (.*?) an event can be replayed/.exec(retries)?.[1]), REPLAYABLE_MS);
});

const UNITS: Record<string, number> = { s: 1_000, min: 60_000, h: 3_600_000, days: 86_400_000 };

function inMs(words = ""): number {
  const [amount, unit = ""] = words.trim().split(" ");
  return Number(amount) * (UNITS[unit] ?? Number.NaN);
}
