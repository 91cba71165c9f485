/**
 * `npm run generate`: regenerates the reference pages, the OpenAPI document, the SDK's types and
 * migrations/schema.sql. A test fails if one of them is out of date.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { testDatabase } from "../test/support/postgres.ts";
import { generatedFiles } from "./generated-files.ts";

const ROOT = join(import.meta.dirname, "..");

await using db = await testDatabase();
for (const [path, text] of await generatedFiles(db)) {
  await mkdir(dirname(join(ROOT, path)), { recursive: true });
  await writeFile(join(ROOT, path), text);
  process.stdout.write(`${path}\n`);
}
