/**
 * HTTP: turns declared operations and their handlers into routes. Authentication, allowances, shape
 * checks, pages of lists, errors and health live here. It knows none of the rooms above it.
 */
export { serveDocs } from "./docs.ts";
export { failedAuthentications, networkOf } from "./failed-authentications.ts";
export { serveHealth, serveMetrics } from "./health.ts";
export type { Allowance, Handlers, Refinement } from "./operation-route.ts";
export { type List, type Pager, pager } from "./pager.ts";
export { Problem } from "./problem.ts";
export { sendJson } from "./send-json.ts";
export { bodyAndQueryCheck, refuseOperations, serveOperations } from "./serve-operations.ts";
export { createHttpServer, serveFallback } from "./server.ts";
export { traceRequests } from "./trace-requests.ts";
