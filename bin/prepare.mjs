/**
 * `npm run build`: what a first start makes in the folder of the program, for a service that may not
 * write there.
 */
import { buildDashboard } from "../dashboard/build.ts";
import { findBinaries } from "../server/platform/embedded-postgres/binaries.ts";

await buildDashboard();
await findBinaries(undefined);
