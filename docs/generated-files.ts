import { openApi } from "#contract";
import type { Queryable } from "#platform";
import { generateModel } from "../sdk/generate-model.ts";
import { version } from "../server/version.ts";
import { auditPage, cliPage, configurationPage, errorsPage } from "./pages.ts";
import { dumpSchema } from "./schema-dump.ts";

/** Everything generated from the code, by its path in the repository. */
export async function generatedFiles(migrated: Queryable): Promise<Map<string, string>> {
  return new Map([
    ["docs/generated/audit.md", auditPage()],
    ["docs/generated/cli.md", await cliPage()],
    ["docs/generated/configuration.md", configurationPage()],
    ["docs/generated/errors.md", errorsPage()],
    ["docs/generated/openapi.json", `${JSON.stringify(openApi(version), null, 2)}\n`],
    ["migrations/schema.sql", await dumpSchema(migrated)],
    ["sdk/model.ts", await generateModel()],
  ]);
}
