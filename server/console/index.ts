/**
 * The console: what people do at the dashboard. It has sign-in, members and roles, the operations
 * under `/console`, statistics and live streams, and the pages themselves.
 * It does not send, book, route or deliver: it asks the rooms that do, and records who asked.
 */
export { makeResetLink, setOperator } from "./change-user.ts";
export { listUsers } from "./operator-users.ts";
export { resealSecondFactors } from "./second-factor.ts";
export { setupLink } from "./setup.ts";
export { passwords } from "./sign-in/password.ts";
export { statisticsLoops } from "./stats/sums.ts";
export { createUser, findUserByEmail } from "./users.ts";
