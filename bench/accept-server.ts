/** The servers that `bench/accept.ts` compares: one per process, chosen by argv. */
import { operations } from "#contract";
import { authenticator } from "#accounts";
import {
  bodyAndQueryCheck,
  createHttpServer,
  failedAuthentications,
  pager,
  serveOperations,
} from "#http";
import {
  acceptor,
  concatReferences,
  countedMoves,
  messageHandlers,
  routingTable,
  sendRefinements,
} from "#messages";
import {
  createMetrics,
  keepYoungObjectsYoung,
  newId,
  openDatabase,
  silentLog,
  systemClock as clock,
} from "#platform";
import { judgeUrl } from "#webhooks";
import { egressPolicy } from "../server/webhooks/egress/policy.ts";

keepYoungObjectsYoung();
const [mode = "posthorn", url = ""] = process.argv.slice(2);
const metrics = createMetrics();
const log = silentLog;
const limits = { sends: 1e9, sendsBurst: 1e9, reads: 1e9, readsBurst: 1e9 };
const app = createHttpServer({
  publicUrl: "http://127.0.0.1",
  bodyLimit: 1_048_576,
  trustProxy: [],
  clock,
  log,
  metrics,
});

if (mode === "bare") {
  const { body } = operations.sendMessage.success;
  const [answer] = (body as unknown as { examples: object[] }).examples;
  const check = bodyAndQueryCheck(operations.sendMessage, undefined);
  app.post("/v1/messages", { schema: { response: { 202: body } } }, (request, reply) => {
    void check(request);
    return reply.code(202).send(answer);
  });
} else {
  const db = openDatabase({ url, log, maxConnections: 10 });
  const acceptDb = openDatabase({
    url,
    log,
    maxConnections: mode === "single" ? 64 : 3,
    genericPlans: true,
  });
  const policy = egressPolicy({ allowCidrs: [], allowHttp: false, ownPorts: [] });
  const judge = (raw: string) => judgeUrl(raw, policy);
  // As many transactions at once as there are connections, even for one account with its one lane.
  const batching = mode === "single" ? { maxItems: 1, maxRunning: 64 } : {};
  const routing = routingTable(db);
  serveOperations(app, {
    operations,
    handlers: messageHandlers({
      db,
      clock,
      accept: acceptor({
        db: acceptDb,
        clock,
        log,
        metrics,
        settings: { nodeId: newId(Date.now()), ...limits },
        intake: undefined,
        ...batching,
      }),
      routing,
      judgeUrl: judge,
      concatReference: concatReferences(),
      pager: pager(Buffer.alloc(32)),
      sources: {
        submissions: () => Promise.resolve([]),
        webhooks: () => Promise.resolve(new Map()),
      },
      limits,
      listener: countedMoves(metrics, undefined),
    }),
    refinements: sendRefinements({ clock, routing, judgeUrl: judge }),
    authenticator: authenticator({ db, limits, onUse: () => undefined }),
    failures: failedAuthentications(1_000_000, clock),
    metrics,
  });
}
await app.listen({ host: "127.0.0.1", port: 0 });
process.send?.((app.server.address() as { port: number }).port);
process.on("message", () => process.send?.(process.cpuUsage()));
process.once("SIGTERM", () => process.exit(0));
process.once("disconnect", () => process.exit(0));
