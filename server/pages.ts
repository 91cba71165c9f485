import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Builds the dashboard's pages if they are missing or their sources have changed, and returns their
 * folder. Runs in its own process: a build takes a gigabyte, which the service would keep for as
 * long as it runs. The signal ends it; a build that is killed leaves the old pages in place.
 */
export async function buildPages(signal: AbortSignal): Promise<string> {
  const program = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [program], { signal });
  return stdout;
}

if (import.meta.main) {
  const { buildDashboard } = await import("../dashboard/build.ts");
  process.stdout.write((await buildDashboard()).folder);
}
