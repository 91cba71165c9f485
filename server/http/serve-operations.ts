import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Detail, Operation } from "#contract";
import type { Metrics } from "#platform";
import type { FailedAuthentications } from "./failed-authentications.ts";
import {
  type Allowance,
  type Authenticator,
  type Call,
  type Caller,
  type Handlers,
  keyProblems,
  type Refinement,
} from "./operation-route.ts";
import {
  failuresLimited,
  jsonInvalid,
  Problem,
  queueFull,
  readsLimited,
  scopeDenied,
  unavailable,
} from "./problem.ts";
import { readQuery, undecodable } from "./query.ts";
import { shapeCheck } from "./shape.ts";

export type ServeOptions<Operations extends Record<string, Operation>> = {
  operations: Operations;
  handlers: Handlers<Operations>;
  refinements: Partial<Record<keyof Operations, Refinement>>;
  authenticator: Authenticator;
  failures: FailedAuthentications;
  metrics: Metrics;
};

/** What is known about a request so far. Made for each request when it is authenticated. */
export type Admission = {
  caller: Caller;
  /** Comes with the database's verdict on the key. Until then, the key is only remembered. */
  allowance: Allowance | undefined;
  isGranted: boolean;
};

/** Turns operations and handlers into routes: authentication, scope, shape, allowance, answer. */
export function serveOperations<Operations extends Record<string, Operation>>(
  app: FastifyInstance,
  options: ServeOptions<Operations>,
): void {
  app.decorateRequest("admission", undefined);
  app.decorateRequest("lastWord", undefined);
  for (const [name, operation] of Object.entries(options.operations)) {
    serve(app, name, operation, options);
  }
}

/** A node without the API sends clients elsewhere: a 404 would say that a message is lost. */
export function refuseOperations(app: FastifyInstance): void {
  const refuse = async () => {
    throw unavailable("This node does not serve the API: its ROLES lack api.");
  };
  app.all("/v1/*", { onRequest: refuse }, refuse);
}

function serve<Operations extends Record<string, Operation>>(
  app: FastifyInstance,
  name: keyof Operations & string,
  operation: Operation,
  options: ServeOptions<Operations>,
): void {
  const handler = options.handlers[name] as unknown as (call: Call<Operation>) => Promise<unknown>;
  const checkShape = bodyAndQueryCheck(operation, options.refinements[name]);
  const { status } = operation.success;
  const { admit, judgeAgain } = admission(operation, options);
  const seconds = options.metrics.requests;
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    schema: { response: { [status]: operation.success.body } },
    onRequest: admit,
    ...(operation.method === "POST" && operation.rate === "reads"
      ? { preHandler: judgeAgain }
      : {}),
    onResponse: (_request, reply, done) => {
      seconds.labels(name, String(reply.statusCode)).observe(reply.elapsedTime / 1000);
      done();
    },
    async handler(request, reply) {
      const checked = checkShape(request);
      const { body, query } = checked instanceof Promise ? await checked : checked;
      const admitted = request.admission as Admission;
      if (!admitted.isGranted) throw readsLimited(admitted.allowance as Allowance);
      const call = callOf(request, reply, admitted, { body, query });
      const answer = await handler(call);
      reply.code(status).headers(allowanceHeaders(admitted.allowance));
      return answer;
    },
  });
}

function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  admitted: Admission,
  { body, query }: { body: unknown; query: unknown },
): Call<Operation> {
  return {
    caller: admitted.caller,
    params: request.params,
    query,
    body,
    idempotencyKey: idempotencyKeyOf(request),
    problem: (code, details) => new Problem(code, details),
    header: (header, value) => void reply.header(header, value),
    allowance: (left) => {
      admitted.allowance = left;
    },
  } as Call<Operation>;
}

/**
 * Node joins repeated headers with a comma. Two keys must not pass for one: nobody can tell which of
 * them a client will repeat. They become an empty key, which is refused wherever a key is taken.
 */
function idempotencyKeyOf({ headers, raw }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"] as string | undefined;
  if (!key?.includes(", ")) return key;
  const names = raw.rawHeaders.filter((_, n) => n % 2 === 0);
  const given = names.filter((name) => name.toLowerCase() === "idempotency-key");
  return given.length > 1 ? "" : key;
}

/** Authenticates before the body is read, and checks the scope before anything is validated. */
function admission(
  operation: Operation,
  options: ServeOptions<Record<string, Operation>> | ServeOptions<never>,
) {
  const { authenticator } = options;
  const takesRead = operation.rate === "reads";

  async function lookUp(request: FastifyRequest, key: string, takes: boolean): Promise<Admission> {
    const verdict = await authenticator.lookUp(key, takes);
    if (verdict.outcome === "queue_full") throw queueFull();
    if (verdict.outcome !== "valid") throw refuse(request, keyProblems[verdict.outcome]);
    const { caller, sends, reads, isGranted } = verdict;
    return { caller, allowance: takesRead ? reads : sends, isGranted };
  }

  function refuse(
    request: FastifyRequest,
    code: "API_KEY_MISSING" | (typeof keyProblems)["unknown" | "revoked" | "expired"],
  ): Problem {
    const { failures } = options;
    const waitSeconds = failures.count(request.ip);
    return waitSeconds === undefined
      ? new Problem(code)
      : failuresLimited(failures.perMinute, waitSeconds);
  }

  /**
   * The key may be revoked while a client slowly sends its body. Sending and canceling judge it in
   * their own transactions, except when canceling a message that does not exist: hence this lookup.
   */
  async function judgeAgain(request: FastifyRequest): Promise<void> {
    await lookUp(request, String(request.headers["x-api-key"]), false);
  }

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.header("cache-control", "no-store");
    // Some clients send a content type without a body. This operation reads no body, so drop it.
    if (!operation.body && hasNoBody(request)) delete request.headers["content-type"];
    const key = request.headers["x-api-key"];
    if (key === undefined) throw refuse(request, "API_KEY_MISSING");
    const recalled = takesRead ? undefined : authenticator.recall(String(key));
    const admitted: Admission = recalled
      ? { caller: recalled, allowance: undefined, isGranted: true }
      : await lookUp(request, String(key), takesRead);
    request.admission = admitted;
    request.lastWord = async (problem) => {
      // A remembered key is never enough to refuse a request. But after a fault the database is not
      // asked: if it is away, an unknown outcome would become a promise that nothing was accepted.
      if (admitted.allowance === undefined && problem.status < 500) {
        admitted.allowance = (await lookUp(request, String(key), false)).allowance;
      }
      // A caller without a valid key is told nothing of the allowance.
      if (problem.status !== 401) reply.headers(allowanceHeaders(admitted.allowance));
      return problem;
    };
    if (!admitted.caller.scopes.includes(operation.scope)) throw scopeDenied(operation.scope);
  }

  return { admit, judgeAgain };
}

/** Without either of the two headers, a request has no body. */
function hasNoBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
}

/**
 * Reads body and query by the declared schemas, or refuses them with a problem that names all that
 * is wrong. Only the refusal is asynchronous, so that a valid request never has to wait.
 */
export function bodyAndQueryCheck(
  operation: Pick<Operation, "body" | "query">,
  refine: Refinement | undefined,
): (request: FastifyRequest) => { body: unknown; query: unknown } | Promise<never> {
  const checkBody = operation.body && shapeCheck(operation.body, "body");
  const checkQuery = operation.query && shapeCheck(operation.query, "query");
  async function refuse(body: unknown, details: Detail[]): Promise<never> {
    const wrong = new Set(details.map(({ field }) => field ?? ""));
    const others = (await refine?.(body, wrong)) ?? [];
    throw new Problem("VALIDATION_FAILED", [...details, ...others]);
  }
  return (request) => {
    const { body } = request;
    const query =
      operation.query && readQuery(request.query as Record<string, unknown>, operation.query);
    if (checkBody && body === undefined) throw jsonInvalid("The body is empty.");
    const garbled = checkQuery ? undecodable(request.url) : [];
    const details = [
      ...garbled.map(garbledDetail),
      ...(checkQuery?.(query) ?? []).filter(({ field }) => !garbled.includes(field ?? "")),
      ...(checkBody?.(body) ?? []),
    ];
    return details.length > 0 ? refuse(body, details) : { body, query };
  };
}

function garbledDetail(field: string): Detail {
  const message = `${field} cannot be decoded; write a % that stands for itself as %25.`;
  return { field, code: "PARAMETER_INVALID", message };
}

/** The three headers that tell a caller how much it may still do. */
function allowanceHeaders(allowance: Allowance | undefined): Record<string, string> {
  if (!allowance) return {};
  const { rate, burst, tokens } = allowance;
  return {
    "ratelimit-limit": String(rate),
    "ratelimit-remaining": String(Math.max(0, Math.floor(tokens))),
    "ratelimit-reset": String(Math.max(0, Math.ceil((burst - tokens) / rate))),
  };
}
