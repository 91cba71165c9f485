import { type Static, Type } from "typebox";
import { consoleOperation, OPERATOR, SeenVersion } from "./console-operation.ts";
import { closed, Id, nullable, oneOf, Time } from "./schema.ts";
import { carrierKinds, linkBinds, linkStates } from "./words.ts";

const Latency = nullable(Type.Object({ p50Ms: Type.Number(), p99Ms: Type.Number() }));

const Link = Type.Object({
  bind: oneOf(linkBinds),
  state: oneOf(linkStates),
  since: Time,
  windowInUse: Type.Integer(),
  submitsPerSecond: Type.Number(),
  receiptsPerSecond: Type.Number(),
  responseMs: Latency,
  enquireLinkAt: nullable({
    ...Time,
    description:
      "When the carrier last answered our enquire_link; null while it has not: only an idle link is asked.",
  }),
  problem: nullable(Type.String({ description: "Why it is not bound, as a sentence." })),
});

const Carrier = Type.Object({
  carrierId: Id,
  name: Type.String(),
  kind: oneOf(carrierKinds),
  state: oneOf(["up", "degraded", "down", "pausing", "paused", "unknown"], {
    description: "Pausing until every node reports that it hands it nothing more.",
  }),
  problems: Type.Array(Type.String(), {
    description: "Why it is down, or a part of it, or cannot be started, as sentences.",
  }),
  isPaused: Type.Boolean(),
  links: Type.Array(Link),
  submitsPerSecond: Type.Number(),
  receiptsPerSecond: Type.Number(),
  responseMs: { ...Latency, description: "Of the slowest link." },
  waiting: Type.Integer({
    description: "Messages that wait for this carrier, counted up to about 100,000.",
  }),
  countedSince: nullable({
    ...Time,
    description:
      "When the youngest node began, if less than an hour ago: the next two sum what all nodes counted, and may lack what was before.",
  }),
  refusals: Type.Array(Type.Object({ carrierCode: Type.String(), count: Type.Integer() }), {
    description:
      "Refused submits of the last hour by the carrier's code, most frequent first, as the nodes that run have counted them: one that restarts begins anew.",
  }),
  lateReceipts: Type.Integer({
    description:
      "Receipts of the last hour that came after their message had ended: they are kept and change nothing. Counted as refusals are.",
  }),
  sinceStart: Type.Object(
    { inDoubt: Type.Integer(), reconnects: Type.Integer(), throttled: Type.Integer() },
    {
      description:
        "Submits without an answer, tries to connect again, and refusals that ask for less, as the nodes that run have counted them since they took the carrier up.",
    },
  ),
  settings: Type.Unsafe<Record<string, unknown>>({
    type: "object",
    additionalProperties: true,
    description: "Without the password, which no answer holds.",
  }),
  hasPassword: Type.Boolean(),
  version: Type.Integer(),
  seenAt: nullable(Time),
});
export type Carrier = Static<typeof Carrier>;

const carrierParams = closed({ carrierId: Id });

/** Carriers: their state, limits and passwords. */
export const carrierOperations = {
  listCarriers: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/carriers`,
    summary: "List carriers with their links and what waits for them",
    access: "operator",
    success: {
      status: 200,
      body: Type.Object({
        data: Type.Array(Carrier),
        parkedReceipts: Type.Integer({
          description:
            "Receipts of all carriers that match no submission yet, counted up to 100,000.",
        }),
      }),
    },
  }),
  updateCarrier: consoleOperation({
    method: "PATCH",
    path: `${OPERATOR}/carriers/{carrierId}`,
    summary: "Change settings or the password of a carrier, in force without a restart",
    access: "operator",
    proof: true,
    audit: "carrier.changed",
    params: carrierParams,
    body: closed(
      {
        version: SeenVersion,
        settings: Type.Optional(
          Type.Unsafe<Record<string, unknown>>({ type: "object", additionalProperties: true }),
        ),
        password: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 255,
            description: "Needed where host, port, system_id or a setting of TLS changes.",
          }),
        ),
      },
      { examples: [{ version: 1, settings: { rate: 50, window: 10, in_doubt: "fail" } }] },
    ),
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  testCarrier: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/carriers/{carrierId}/test`,
    summary: "Try a bind and say what happened",
    access: "operator",
    audit: "carrier.tested",
    params: carrierParams,
    success: {
      status: 200,
      body: Type.Object({
        isBound: Type.Boolean(),
        message: Type.String(),
        durationMs: Type.Integer(),
      }),
    },
    errors: ["CARRIER_NOT_FOUND"],
  }),
  pauseCarrier: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/carriers/{carrierId}/pause`,
    summary: "Submit nothing more to this carrier",
    access: "operator",
    audit: "carrier.changed",
    params: carrierParams,
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND"],
  }),
  resumeCarrier: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/carriers/{carrierId}/resume`,
    summary: "Submit to this carrier again",
    access: "operator",
    audit: "carrier.changed",
    params: carrierParams,
    success: { status: 200, body: Carrier },
    errors: ["CARRIER_NOT_FOUND"],
  }),
};
