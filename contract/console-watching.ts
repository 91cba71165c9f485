import { type Static, Type } from "typebox";
import { Actor, consoleOperation, isMore, OPERATOR, pageOf, paging } from "./console-operation.ts";
import { AnyTime, closed, Id, nullable, sought, Time } from "./schema.ts";

const AuditEntry = Type.Object({
  auditId: Id,
  at: Time,
  accountId: nullable(Id),
  accountName: nullable(Type.String()),
  actor: Actor,
  actorId: nullable(Type.String()),
  address: nullable(Type.String()),
  action: Type.String(),
  objectId: nullable(Type.String()),
  details: Type.Unsafe<Record<string, unknown>>({
    type: "object",
    additionalProperties: true,
    description: "Before and after, or what else explains it. Never a secret.",
  }),
  requestId: nullable(Type.String()),
});
export type AuditEntry = Static<typeof AuditEntry>;

const auditFilters = {
  accountId: Type.Optional(Id),
  actor: Type.Optional(sought(100, "`user:<id>`, `cli`, `system`.")),
  action: Type.Optional(Type.Array(sought(60), { description: "Repeatable." })),
  objectId: Type.Optional(sought(100)),
  after: Type.Optional(AnyTime),
  before: Type.Optional(AnyTime),
};

/** What is happening in the whole installation, and who did what. */
export const watchingOperations = {
  readQueue: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/queue`,
    summary: "What waits to be sent, in all and per account",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object({
        waiting: Type.Integer({ description: "Due now." }),
        scheduled: Type.Integer({ description: "Due later." }),
        isMore,
        oldestDueAt: nullable(Time),
        accounts: Type.Array(
          Type.Object({
            accountId: Id,
            name: Type.String(),
            waiting: Type.Integer(),
            scheduled: Type.Integer(),
            isMore,
            oldestDueAt: nullable(Time),
          }),
        ),
        webhooks: Type.Object({ waiting: Type.Integer(), isMore, oldestDueAt: nullable(Time) }),
      }),
    },
  }),
  listNodes: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/nodes`,
    summary: "List nodes with their roles and heartbeat",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object({
        data: Type.Array(
          Type.Object({
            nodeId: Id,
            hostname: Type.String(),
            roles: Type.Array(Type.String()),
            softwareVersion: Type.String(),
            startedAt: Time,
            heardAt: Time,
            isStale: Type.Boolean(),
          }),
        ),
      }),
    },
  }),
  listAudit: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/audit`,
    summary: "List what was changed by whom, newest first",
    access: "operator",
    query: closed({ ...paging, ...auditFilters }),
    success: { status: 200, body: pageOf(AuditEntry) },
    errors: ["CURSOR_INVALID"],
  }),
  exportAudit: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/audit.csv`,
    summary: "The same as CSV, at most 100,000 rows",
    access: "operator",
    query: closed(auditFilters),
    success: { status: 200, body: Type.String(), type: "text/csv" },
  }),
  streamOperator: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/stream`,
    summary: "What changes for the operator's pages, as server-sent events",
    access: "operator",
    success: { status: 200, body: Type.String(), type: "text/event-stream" },
  }),
};
