import assert from "node:assert/strict";
import { test } from "node:test";
import { facts, table } from "./table.ts";

test("columns are aligned, and an absent value is a dash", () => {
  const shown = table(
    ["NAME", "N"],
    [
      ["é", 1],
      ["longer", null],
    ],
  );

  assert.equal(shown, "NAME    N\né       1\nlonger  –");
});

test("an empty table is said in a word", () => {
  assert.equal(table(["NAME"], []), "None.");
});

test("text written by others cannot steer the terminal", () => {
  assert.equal(facts({ name: "a\u001B[2Jb\u202E" }), "name  a\uFFFD[2Jb\uFFFD");
});
