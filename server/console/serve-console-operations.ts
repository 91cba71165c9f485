import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ConsoleOperation, consoleOperations, type Detail, type ErrorCode } from "#contract";
import { bodyAndQueryCheck, networkOf, Problem, type Refinement, sendJson } from "#http";
import {
  type Clock,
  type Database,
  type Log,
  type Metrics,
  NIL_ID,
  readId,
  severityOf,
  type Transaction,
} from "#platform";
import { type Admission, holdAccess, requireAccess } from "./access.ts";
import type {
  ConsoleCall,
  ConsoleHandlers,
  CsvAnswer,
  Person,
  StreamAnswer,
} from "./console-call.ts";
import { gatePerPerson } from "./gate-per-person.ts";
import { tellCommitted } from "./note-commits.ts";
import { readAhead } from "./read-ahead.ts";
import { TooManyHashes } from "./sign-in/password.ts";
import { isOwnOrigin } from "./sign-in/origin.ts";
import { findSession, type FoundSession } from "./sign-in/sessions.ts";
import type { SessionCookie } from "./sign-in/session-cookie.ts";
import { openEventStream } from "./stream/event-stream.ts";
import { isInstalled } from "./users.ts";

export type ServeConsoleOptions = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  cookie: SessionCookie;
  publicUrl: string;
  handlers: ConsoleHandlers;
  refinements: Partial<Record<keyof ConsoleHandlers, Refinement>>;
};

/** A password or code counts as proof of identity for this long. */
export const PROOF_MS = 10 * 60_000;

/** More than any of them needs: faults in a stranger's body are listed field by field. */
const MAX_STRANGERS_OCTETS = 16_384;

type Enter = ReturnType<typeof gatePerPerson>;
type Serving = ServeConsoleOptions & { enter: Enter; enterUnknown: Enter; enterExport: Enter };
type Admitted = FastifyRequest & { consoleAdmission?: Admission };
type AnyCall = ConsoleCall<ConsoleOperation>;

/** Connects each operation with its handler: origin, session, role, shape, proof, answer. */
export function serveConsoleOperations(app: FastifyInstance, given: ServeConsoleOptions): void {
  app.decorateRequest("consoleAdmission", undefined);
  // No rate limit applies to people: this keeps one from holding all connections or filling memory.
  const options = {
    ...given,
    enter: gatePerPerson({ maxRunning: 4, maxWaiting: 30, waitSeconds: 1 }),
    // Strangers share a gate per network, so that many sign-ins cannot keep everybody waiting. It
    // is wider than a person's: a whole office or proxy may be one network.
    enterUnknown: gatePerPerson({ maxRunning: 4, maxWaiting: 200, waitSeconds: 1 }),
    enterExport: gatePerPerson({ maxRunning: 2, maxWaiting: 0, waitSeconds: 10 }),
  };
  for (const [name, operation] of Object.entries<ConsoleOperation>(consoleOperations)) {
    serve(app, name as keyof ConsoleHandlers, operation, options);
  }
}

function serve(
  app: FastifyInstance,
  name: keyof ConsoleHandlers,
  operation: ConsoleOperation,
  options: Serving,
): void {
  const handler = options.handlers[name] as unknown as (call: AnyCall) => Promise<unknown>;
  // Compiled on first use: nobody uses all operations, and the start need not wait for them.
  let check: ReturnType<typeof bodyAndQueryCheck> | undefined;
  const checkShape = (request: FastifyRequest) => {
    check ??= bodyAndQueryCheck(operation, options.refinements[name]);
    return check(request);
  };
  const { type } = operation.success;

  async function answerOf(request: Admitted, reply: FastifyReply): Promise<unknown> {
    // Judged again: the session or role may have been lost while a slow body came in.
    if (operation.method !== "GET") await judge(request, operation, options);
    const { body: given, query } = await checkShape(request);
    const admission = request.consoleAdmission as Admission;
    if (operation.proof) requireProof(admission.person, options.clock.now());
    const { access } = operation;
    const call = callOf(request, reply, { ...admission, access }, { body: given, query });
    const answer = await tellCommitted(() => handler(call)).catch(asProblem);
    if (type !== "text/csv") return answer;
    return openFile(request, answer as CsvAnswer, { ...options, operation });
  }

  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    // A HEAD request would open a stream that nobody reads, or make a whole file for nobody.
    exposeHeadRoute: type === undefined,
    ...(isForStrangers(operation) ? { bodyLimit: MAX_STRANGERS_OCTETS } : {}),
    onRequest: (request: Admitted, reply) => admit(request, reply, operation, options),
    onResponse: (_request, reply, done) => {
      const { requests } = options.metrics;
      requests
        .labels(`console ${name}`, String(reply.statusCode))
        .observe(reply.elapsedTime / 1000);
      done();
    },
    async handler(request: Admitted, reply) {
      const { person } = request.consoleAdmission as Admission;
      const { enter, enterUnknown } = options;
      const leave = await (person ? enter(person.userId) : enterUnknown(networkOf(request.ip)));
      const answer = await answerOf(request, reply).finally(leave);
      return send(request, reply, operation, answer);
    },
  });
}

function isForStrangers({ access }: ConsoleOperation): boolean {
  return access === "public" || access === "setup";
}

/** Checks before reading the body: the request's origin, the person, and what their role allows. */
async function admit(
  request: Admitted,
  reply: FastifyReply,
  operation: ConsoleOperation,
  options: ServeConsoleOptions,
): Promise<void> {
  request.params = knownIds(request.params as Record<string, string>);
  void reply.headers({
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
  });
  if (operation.method !== "GET" && !isOwnOrigin(request.headers, options.publicUrl))
    throw new Problem("ORIGIN_DENIED");
  if (operation.access === "setup" && (await isInstalled(options.db)))
    throw new Problem("ROUTE_NOT_FOUND");
  await judge(request, operation, options);
}

/** Finds the person and whether their role allows the operation, as the database has it now. */
async function judge(
  request: Admitted,
  operation: ConsoleOperation,
  options: ServeConsoleOptions,
): Promise<void> {
  const { accountId } = request.params as { accountId?: string };
  const session = await sessionOf(request, options, accountId);
  const role = session?.role ?? undefined;
  request.consoleAdmission = { person: session && personOf(session), role };
  requireAccess(operation.access, request.consoleAdmission);
}

function sessionOf(
  request: FastifyRequest,
  { db, clock, cookie }: ServeConsoleOptions,
  accountId: string | undefined,
): Promise<FoundSession | undefined> {
  const tokenHash = cookie.read(request.headers.cookie);
  if (!tokenHash) return Promise.resolve(undefined);
  return findSession(db, { tokenHash, accountId: accountId ?? null, now: clock.now() });
}

function personOf(session: FoundSession): Person {
  return {
    sessionId: session.session_id,
    userId: session.user_id,
    name: session.name,
    email: session.email,
    isOperator: session.is_operator,
    isPending: session.is_pending,
    provenAt: session.proven_at,
  };
}

function requireProof(person: Person | undefined, now: Date): void {
  if (!person || now.getTime() - person.provenAt.getTime() > PROOF_MS)
    throw new Problem("PROOF_REQUIRED");
}

function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { person, role, access }: Admission & Pick<ConsoleOperation, "access">,
  { body, query }: { body: unknown; query: unknown },
): AnyCall {
  const { accountId } = request.params as { accountId?: string };
  const address = request.ip;
  return {
    person,
    account: role && accountId !== undefined ? { accountId, role } : undefined,
    holdAccess: (tx: Transaction) => holdAccess(tx, access, { person, accountId }),
    actor: { name: person ? `user:${person.userId}` : "system", address, requestId: request.id },
    params: request.params,
    query: query ?? {},
    body,
    idempotencyKey: request.headers["idempotency-key"] as string | undefined,
    address,
    userAgent: request.headers["user-agent"] ?? null,
    problem: (code: ErrorCode, details?: Detail[]) => new Problem(code, details),
    header: (name: string, value: string) => void reply.header(name, value),
  } as unknown as AnyCall;
}

/** Replaces malformed ids by one that nothing has, so that the lookup answers "not found". */
function knownIds(params: Record<string, string>): Record<string, string> {
  const entries = Object.entries(params).map(([name, id]) => [name, readId(id) ?? NIL_ID]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function asProblem(error: unknown): never {
  if (error instanceof TooManyHashes) throw new Problem("SIGN_IN_BUSY", [], { "retry-after": "1" });
  throw error;
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { success: { status, body, type } }: ConsoleOperation,
  answer: unknown,
): FastifyReply {
  if (type === "text/event-stream") {
    openEventStream(request, reply, answer as StreamAnswer);
    return reply;
  }
  if (type === "text/csv") {
    const { fileName, file } = answer as OpenFile;
    return reply
      .type("text/csv; charset=utf-8")
      .header("content-disposition", `attachment; filename="${fileName}"`)
      .send(file);
  }
  reply.code(status);
  return status === 204 ? reply.send() : sendJson(reply, body, answer);
}

type OpenFile = { fileName: string; file: Readable };

/** Until it is closed, the file counts among the few that a person may have open. */
async function openFile(
  request: Admitted,
  { fileName, lines }: CsvAnswer,
  { operation, ...options }: Serving & { operation: ConsoleOperation },
): Promise<OpenFile> {
  const { enterExport, log } = options;
  const { id, routeOptions, consoleAdmission } = request;
  const leave = await enterExport(consoleAdmission?.person?.userId ?? "");
  const allowed = whileAllowed(lines, () => judge(request, operation, options));
  const tell = (error: unknown) =>
    log[error instanceof Problem ? "debug" : severityOf(error)](
      { error, requestId: id, path: routeOptions.url },
      `the file that request ${id} was answered with broke off`,
    );
  try {
    const file = Readable.from(await readAhead(allowed, tell));
    return { fileName, file: file.once("close", leave) };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Checks the role again after each page (an empty line): a slow reader may lose it meanwhile. */
async function* whileAllowed(
  lines: AsyncIterable<string>,
  judgeAgain: () => Promise<void>,
): AsyncGenerator<string> {
  for await (const line of lines) {
    yield line;
    if (line === "") await judgeAgain();
  }
}
