import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { buildDashboard } from "../../dashboard/build.ts";

type Chunk = { file: string; imports?: string[]; css?: string[]; isDynamicEntry?: boolean };

const KB = 1_000;
let folder: string;
let chunks: Record<string, Chunk>;
before(async () => {
  ({ folder } = await buildDashboard());
  chunks = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as typeof chunks;
});

/** A file and all it imports statically; what it loads later is not counted. */
function loadedWith(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const each of chunks[name]?.imports ?? []) loadedWith(each, seen);
  return seen;
}

function gzipped(names: Iterable<string>): number {
  return [...names].reduce(
    (sum, name) => sum + statSync(join(folder, `${chunks[name]?.file}.gz`)).size,
    0,
  );
}

const DIALOGS = ["book-credits", "create-account", "edit-carrier", "make-link"];

function pages(): string[] {
  const found = Object.keys(chunks).filter(
    (name) =>
      /^pages\/(?:operator\/)?\w[\w-]*\.tsx$/.test(name) &&
      !DIALOGS.some((dialog) => name.includes(dialog)),
  );
  assert.ok(found.length > 15, "the pages are found");
  return found;
}

const shell = () => loadedWith("index.html");

test("the shell is at most 175 kB of compressed script", () => {
  assert.ok(gzipped(shell()) <= 175 * KB, `${gzipped(shell())}`);
});

test("the shell is three files, and no page loads more than 25 of its own", () => {
  assert.equal(shell().size, 3, "our code, its libraries, and what the bundler adds");
  const counts = pages().map((name) => [name, loadedWith(name).difference(shell()).size]);
  assert.deepEqual(
    counts.filter(([, count]) => Number(count) > 25),
    [],
  );
});

test("no page has more than 45 kB of its own", () => {
  const own = pages().map((name) => ({
    name,
    size: gzipped(loadedWith(name).difference(shell())),
  }));

  assert.deepEqual(
    own.filter(({ size }) => size > 45 * KB),
    [],
  );
});

test("the charts add at most 140 kB, and only the overview loads them", () => {
  const charts = "pages/overview/charts.tsx";
  const already = shell().union(loadedWith("pages/overview.tsx"));

  assert.ok(gzipped(loadedWith(charts).difference(already)) <= 140 * KB);
  const others = Object.keys(chunks).filter((name) => name !== charts);
  assert.ok(others.every((name) => !loadedWith(name).has(charts)));
});

test("the styles are at most 45 kB, and the fonts of a Latin page 90 kB", () => {
  const styles = new Set([...shell()].flatMap((name) => chunks[name]?.css ?? []));
  const css = [...styles].reduce((sum, file) => sum + statSync(join(folder, `${file}.gz`)).size, 0);
  const fonts = readdirSync(join(folder, "assets")).filter((name) =>
    /-latin-wght-normal/.test(name),
  );
  const latin = fonts.reduce((sum, name) => sum + statSync(join(folder, "assets", name)).size, 0);

  assert.equal(fonts.length, 2);
  assert.ok(css <= 45 * KB, `${css}`);
  assert.ok(latin <= 90 * KB, `${latin}`);
});
