/**
 * `npm run build`: makes what a first start would write into the program's folder, for a service
 * that may not write there.
 */
import { buildDashboard } from "../dashboard/build.ts";
import { findBinaries } from "../server/platform/embedded-postgres/binaries.ts";

await buildDashboard();
await findBinaries(undefined);
