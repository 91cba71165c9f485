import { type Static, Type } from "typebox";
import {
  Actor,
  closed,
  consoleOperation,
  IDEMPOTENCY,
  pageOf,
  paging,
} from "./console-operation.ts";
import { Id, nullable, oneOf, Time } from "./schema.ts";
import { AnyTime } from "./schema.ts";
import { OneTimeLink } from "./console-team.ts";

const O = "/console/operator";

const OperatorAccount = Type.Object(
  {
    accountId: Id,
    name: Type.String(),
    balance: Type.Integer(),
    createdAt: Time,
    members: Type.Integer(),
    owners: Type.Array(Type.Object({ userId: Id, name: Type.String(), email: Type.String() })),
  },
  { title: "OperatorAccount" },
);
export type OperatorAccount = Static<typeof OperatorAccount>;

const OperatorUser = Type.Object(
  {
    userId: Id,
    name: Type.String(),
    email: Type.String(),
    isOperator: Type.Boolean(),
    hasSecondFactor: Type.Boolean(),
    lastSeenAt: nullable(Time),
    accounts: Type.Array(Type.Object({ accountId: Id, name: Type.String() })),
  },
  { title: "OperatorUser" },
);

const Latency = nullable(Type.Object({ p50Ms: Type.Number(), p99Ms: Type.Number() }));

const Link = Type.Object({
  bind: oneOf(["transmitter", "receiver", "transceiver", "simulator"]),
  state: oneOf([
    "starting",
    "binding",
    "bound",
    "throttled",
    "connection_lost",
    "refused",
    "stopped",
  ]),
  since: Time,
  windowInUse: Type.Integer(),
  submitsPerSecond: Type.Number(),
  receiptsPerSecond: Type.Number(),
  responseMs: Latency,
  problem: nullable(Type.String()),
});

const Carrier = Type.Object(
  {
    carrierId: Id,
    name: Type.String(),
    kind: oneOf(["simulator", "smpp"]),
    state: oneOf(["up", "degraded", "down", "paused", "unknown"]),
    isPaused: Type.Boolean(),
    links: Type.Array(Link),
    submitsPerSecond: Type.Number(),
    receiptsPerSecond: Type.Number(),
    responseMs: Latency,
    waiting: Type.Integer({ description: "Messages that wait for this carrier." }),
    refusals: Type.Array(Type.Object({ carrierCode: Type.String(), count: Type.Integer() }), {
      description: "Since its nodes started, most frequent first.",
    }),
    settings: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      additionalProperties: true,
      description: "Without the password, which no answer holds.",
    }),
    hasPassword: Type.Boolean(),
    version: Type.Integer(),
    seenAt: nullable(Time),
  },
  { title: "Carrier" },
);
export type Carrier = Static<typeof Carrier>;

const Prefix = Type.String({
  pattern: "^[0-9]{0,15}$",
  description: "Digits a number begins with; empty is the default.",
});
const CarrierRef = Type.Object({ carrierId: Id, name: Type.String() });
const Route = Type.Object({ prefix: Type.String(), carriers: Type.Array(CarrierRef) });
const Price = Type.Object({ prefix: Type.String(), credits: Type.Integer() });
const routingVersion = Type.Integer({
  description: "Of routes and prices together; sent back with a change.",
});
const Routes = Type.Object(
  { data: Type.Array(Route), version: routingVersion },
  { title: "Routes", examples: [{ data: [{ prefix: "", carriers: [] }], version: 1 }] },
);
const Prices = Type.Object(
  { data: Type.Array(Price), version: routingVersion },
  { title: "Prices", examples: [{ data: [{ prefix: "33", credits: 2 }], version: 1 }] },
);
const byPrefix = closed({ prefix: Prefix, version: Type.Optional(Type.Integer()) });
const byRecipient = closed({ recipient: Type.String({ maxLength: 20 }) });

const AuditEntry = Type.Object(
  {
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
  },
  { title: "AuditEntry" },
);
export type AuditEntry = Static<typeof AuditEntry>;

const auditFilters = {
  accountId: Type.Optional(Type.String()),
  actor: Type.Optional(
    Type.String({ maxLength: 100, description: "`user:<id>`, `cli`, `system`." }),
  ),
  action: Type.Optional(Type.Array(Type.String({ maxLength: 60 }), { description: "Repeatable." })),
  objectId: Type.Optional(Type.String({ maxLength: 100 })),
  after: Type.Optional(AnyTime),
  before: Type.Optional(AnyTime),
};

const carrierParams = closed({ carrierId: Id });

export const operatorOperations = {
  listAccounts: consoleOperation({
    method: "GET",
    path: `${O}/accounts`,
    summary: "List accounts, newest first",
    access: "operator",
    query: closed({ ...paging, q: Type.Optional(Type.String({ maxLength: 60 })) }),
    success: { status: 200, body: pageOf(OperatorAccount) },
    errors: ["CURSOR_INVALID"],
  }),
  createAccount: consoleOperation({
    method: "POST",
    path: `${O}/accounts`,
    summary: "Create an account; the answer holds the invitation link for its owner",
    access: "operator",
    proof: true,
    audit: "account.created",
    headers: IDEMPOTENCY,
    body: closed(
      {
        name: Type.String({ minLength: 1, maxLength: 60 }),
        credits: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
      },
      { examples: [{ name: "Example", credits: 1000 }] },
    ),
    success: {
      status: 201,
      body: Type.Object({ account: OperatorAccount, ...OneTimeLink }, { title: "NewAccount" }),
    },
    errors: ["IDEMPOTENCY_KEY_INVALID", "LINK_ALREADY_MADE"],
  }),
  bookCredits: consoleOperation({
    method: "POST",
    path: `${O}/accounts/{accountId}/credits`,
    summary: "Top up or adjust an account; the same reference books once",
    access: "operator",
    proof: true,
    audit: "credits.booked",
    params: closed({ accountId: Id }),
    body: closed(
      {
        kind: oneOf(["topup", "adjustment"]),
        amount: Type.Integer({ minimum: -1_000_000_000, maximum: 1_000_000_000 }),
        note: Type.String({ minLength: 1, maxLength: 200 }),
        reference: Type.String({ minLength: 1, maxLength: 100, description: "Your own, unique." }),
      },
      { examples: [{ kind: "topup", amount: 10000, note: "Invoice 17", reference: "inv-17" }] },
    ),
    success: {
      status: 200,
      body: Type.Object(
        { outcome: oneOf(["booked", "repeated"]), balance: Type.Integer() },
        { title: "Booking", examples: [{ outcome: "booked", balance: 194_220 }] },
      ),
    },
    errors: [],
  }),
  listUsers: consoleOperation({
    method: "GET",
    path: `${O}/users`,
    summary: "List users, newest first",
    access: "operator",
    query: closed({ ...paging, q: Type.Optional(Type.String({ maxLength: 100 })) }),
    success: { status: 200, body: pageOf(OperatorUser) },
    errors: ["CURSOR_INVALID"],
  }),
  makeResetLink: consoleOperation({
    method: "POST",
    path: `${O}/users/{userId}/reset-link`,
    summary: "Make a one-time link by which the user sets a new password",
    access: "operator",
    proof: true,
    audit: "user.reset_link_made",
    params: closed({ userId: Id }),
    success: { status: 201, body: Type.Object(OneTimeLink, { title: "ResetLink" }) },
    errors: ["USER_NOT_FOUND"],
  }),
  listCarriers: consoleOperation({
    method: "GET",
    path: `${O}/carriers`,
    summary: "List carriers with their links and what waits for them",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object({ data: Type.Array(Carrier) }, { title: "Carriers" }),
    },
    errors: [],
  }),
  updateCarrier: consoleOperation({
    method: "PATCH",
    path: `${O}/carriers/{carrierId}`,
    summary: "Change settings or the password of a carrier, in force without a restart",
    access: "operator",
    audit: "carrier.changed",
    params: carrierParams,
    body: closed(
      {
        version: Type.Integer(),
        settings: Type.Optional(
          Type.Unsafe<Record<string, unknown>>({ type: "object", additionalProperties: true }),
        ),
        password: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      },
      { examples: [{ version: 1, settings: { rate: 50, window: 10, in_doubt: "fail" } }] },
    ),
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  testCarrier: consoleOperation({
    method: "POST",
    path: `${O}/carriers/{carrierId}/test`,
    summary: "Try a bind and say what happened",
    access: "operator",
    audit: "carrier.tested",
    params: carrierParams,
    success: {
      status: 200,
      body: Type.Object(
        { isBound: Type.Boolean(), message: Type.String(), durationMs: Type.Integer() },
        { title: "BindTest", examples: [{ isBound: true, message: "Bound.", durationMs: 12 }] },
      ),
    },
    errors: ["CARRIER_NOT_FOUND"],
  }),
  pauseCarrier: consoleOperation({
    method: "POST",
    path: `${O}/carriers/{carrierId}/pause`,
    summary: "Submit nothing more to this carrier",
    access: "operator",
    audit: "carrier.changed",
    params: carrierParams,
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND"],
  }),
  resumeCarrier: consoleOperation({
    method: "POST",
    path: `${O}/carriers/{carrierId}/resume`,
    summary: "Submit to this carrier again",
    access: "operator",
    audit: "carrier.changed",
    params: carrierParams,
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND"],
  }),
  listRoutes: consoleOperation({
    method: "GET",
    path: `${O}/routes`,
    summary: "List routes by prefix",
    access: "operator",
    success: { status: 200, body: Routes },
    errors: [],
  }),
  setRoute: consoleOperation({
    method: "POST",
    path: `${O}/routes`,
    summary: "Set the carriers of a prefix, in order of preference",
    access: "operator",
    audit: "route.set",
    body: closed(
      {
        prefix: Prefix,
        carrierIds: Type.Array(Type.String(), { minItems: 1, maxItems: 10 }),
        version: Type.Optional(Type.Integer()),
      },
      { examples: [{ prefix: "33", carrierIds: ["01900000-0000-7000-8000-000000000001"] }] },
    ),
    success: { status: 200, body: Routes },
    errors: ["VERSION_CONFLICT"],
  }),
  removeRoute: consoleOperation({
    method: "DELETE",
    path: `${O}/routes`,
    summary: "Remove the route of a prefix",
    access: "operator",
    audit: "route.removed",
    query: byPrefix,
    success: { status: 200, body: Routes },
    errors: ["PREFIX_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  findRoute: consoleOperation({
    method: "GET",
    path: `${O}/routes/find`,
    summary: "Which carriers a number would be handed to",
    access: "operator",
    query: byRecipient,
    success: {
      status: 200,
      body: Type.Object(
        {
          recipient: Type.String(),
          prefix: nullable(Type.String()),
          carriers: Type.Array(CarrierRef),
        },
        {
          title: "FoundRoute",
          examples: [{ recipient: "33612345678", prefix: "33", carriers: [] }],
        },
      ),
    },
    errors: [],
  }),
  listPrices: consoleOperation({
    method: "GET",
    path: `${O}/prices`,
    summary: "List prices by prefix",
    access: "operator",
    success: { status: 200, body: Prices },
    errors: [],
  }),
  setPrice: consoleOperation({
    method: "POST",
    path: `${O}/prices`,
    summary: "Set the credits per segment of a prefix",
    access: "operator",
    audit: "price.set",
    body: closed(
      {
        prefix: Prefix,
        credits: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
        version: Type.Optional(Type.Integer()),
      },
      { examples: [{ prefix: "33", credits: 2 }] },
    ),
    success: { status: 200, body: Prices },
    errors: ["VERSION_CONFLICT"],
  }),
  removePrice: consoleOperation({
    method: "DELETE",
    path: `${O}/prices`,
    summary: "Remove the price of a prefix",
    access: "operator",
    audit: "price.removed",
    query: byPrefix,
    success: { status: 200, body: Prices },
    errors: ["PREFIX_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  findPrice: consoleOperation({
    method: "GET",
    path: `${O}/prices/find`,
    summary: "What a segment to a number costs",
    access: "operator",
    query: byRecipient,
    success: {
      status: 200,
      body: Type.Object(
        { recipient: Type.String(), prefix: nullable(Type.String()), credits: Type.Integer() },
        { title: "FoundPrice", examples: [{ recipient: "33612345678", prefix: "33", credits: 2 }] },
      ),
    },
    errors: [],
  }),
  readQueue: consoleOperation({
    method: "GET",
    path: `${O}/queue`,
    summary: "What waits to be sent, in all and per account",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object(
        {
          waiting: Type.Integer({ description: "Due now." }),
          scheduled: Type.Integer({ description: "Due later." }),
          oldestDueAt: nullable(Time),
          accounts: Type.Array(
            Type.Object({
              accountId: Id,
              name: Type.String(),
              waiting: Type.Integer(),
              oldestDueAt: nullable(Time),
            }),
          ),
          webhooks: Type.Object({ waiting: Type.Integer(), oldestDueAt: nullable(Time) }),
        },
        { title: "Queue" },
      ),
    },
    errors: [],
  }),
  listNodes: consoleOperation({
    method: "GET",
    path: `${O}/nodes`,
    summary: "List nodes with their roles and heartbeat",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object(
        {
          data: Type.Array(
            Type.Object({
              nodeId: Id,
              hostname: Type.String(),
              roles: Type.Array(Type.String()),
              softwareVersion: Type.String(),
              startedAt: Time,
              heartbeatAt: Time,
              isStale: Type.Boolean(),
            }),
          ),
        },
        { title: "Nodes" },
      ),
    },
    errors: [],
  }),
  listAudit: consoleOperation({
    method: "GET",
    path: `${O}/audit`,
    summary: "List what was changed by whom, newest first",
    access: "operator",
    query: closed({ ...paging, ...auditFilters }),
    success: { status: 200, body: pageOf(AuditEntry) },
    errors: ["CURSOR_INVALID"],
  }),
  exportAudit: consoleOperation({
    method: "GET",
    path: `${O}/audit.csv`,
    summary: "The same as CSV, at most 100,000 rows",
    access: "operator",
    query: closed(auditFilters),
    success: { status: 200, body: Type.String(), type: "text/csv" },
    errors: [],
  }),
  streamOperator: consoleOperation({
    method: "GET",
    path: `${O}/stream`,
    summary: "What changes for the operator's pages, as server-sent events",
    access: "operator",
    success: { status: 200, body: Type.String(), type: "text/event-stream" },
    errors: [],
  }),
};
