import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApi } from "#contract";
import { generatedFiles } from "../docs/generated-files.ts";
import { testDatabase } from "./support/postgres.ts";

const ROOT = join(import.meta.dirname, "..");

test("generated files match the code; npm run generate updates them", async () => {
  await using db = await testDatabase();

  for (const [path, text] of await generatedFiles(db)) {
    const kept = await readFile(join(ROOT, path), "utf8").catch(() => "");
    assert.ok(kept === text, `${path} is out of date: run npm run generate`);
  }
});

test("an independent validator accepts the OpenAPI document", async () => {
  const result = await new Validator().validate(openApi("1.0.0"));

  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.valid, true);
});
