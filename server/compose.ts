import type { FastifyInstance } from "fastify";
import { hostname } from "node:os";
import { setupLink, statisticsLoops } from "#console";
import { serveConsole } from "#console/serve";
import { operations } from "#contract";
import { authenticator, keyUsage } from "#accounts";
import {
  createHttpServer,
  failedAuthentications,
  pager,
  serveDocs,
  serveHealth,
  serveMetrics,
  refuseOperations,
  serveOperations,
  traceRequests,
} from "#http";
import {
  acceptor,
  concatReferences,
  countedMoves,
  expireMessages,
  keepPartitions,
  messageHandlers,
  type MoveListener,
  redactTexts,
  routingTable,
  sendRefinements,
  sweepIdempotency,
  tracedAccept,
} from "#messages";
import {
  type Clock,
  compareMigrations,
  createMetrics,
  type Database,
  type DatabaseClock,
  deriveKey,
  followDatabase,
  type Log,
  type Loop,
  type Metrics,
  newId,
  type RunningLoop,
  runLoop,
  type SecretBox,
  secretBox,
} from "#platform";
import { carrierFleet, observeSending, presence, submissionHistory } from "#sending";
import {
  continueReplays,
  deliveryLoop,
  judgeUrl,
  keepAttempts,
  laneKeeper,
  observeWebhooks,
  servicePolicy,
  servicePoster,
  sweepFollowed,
  systemEgress,
  webhookHistory,
} from "#webhooks";
import { openPools } from "./pools.ts";
import { previousSecretKey } from "./secret-key.ts";
import type { Config } from "./settings.ts";
import type { Storage } from "./storage.ts";
import { tracing } from "./tracing.ts";
import { version } from "./version.ts";

export type Service = {
  app: FastifyInstance;
  /** Starts the background work. Resolves once the carriers are known. */
  start(): Promise<void>;
  /** A link that creates the operator; undefined once there is one. */
  setupLink(): Promise<string | undefined>;
  /** Stops the service after finishing what is in flight, and closes the database connections. */
  stop(): Promise<void>;
};

type Parts = {
  config: Config;
  storage: Storage;
  secretKey: Buffer;
  publicUrl: string;
  /** Follows the database's clock where that is possible. */
  clock: Clock | DatabaseClock;
  log: Log;
  /** Builds the dashboard's pages and returns their folder. If absent, only its API is served. */
  pages?: () => Promise<string>;
};

/** The only place that builds things and ties them together. */
export function compose(parts: Parts): Service {
  const { config, storage, secretKey, publicUrl, clock, pages } = parts;
  const nodeId = newId(clock.now().getTime());
  const metrics = createMetrics();
  metrics
    .gauge("node_info", "1, with the version and roles of this node.", ["version", "roles"])
    .labels(version, [...config.roles].join(","))
    .set(1);
  const { spans, tracer, log } = tracing({ config, nodeId, metrics, log: parts.log });
  const pools = openPools({ url: storage.url, log, metrics });
  const { db, sendDb, acceptDb, recordDb, deliverDb, consoleDb } = pools;
  const limits = {
    sends: config.rateLimitSends,
    sendsBurst: config.rateLimitSendsBurst,
    reads: config.rateLimitReads,
    readsBurst: config.rateLimitReadsBurst,
  };
  const usage = keyUsage({ db, clock });
  const previousKey = previousSecretKey(config);
  const secrets = secretBox(secretKey, previousKey);
  const node = {
    nodeId,
    roles: [...config.roles],
    host: hostname(),
    pid: process.pid,
    version,
    startedAt: clock.now(),
  };
  const delivering = deliveryParts(parts, secrets);
  const judge = (raw: string) => judgeUrl(raw, delivering.policy);
  const webhooks = config.roles.has("webhooks")
    ? deliveryLoop({
        ...delivering,
        db: deliverDb,
        log,
        metrics,
        tracer,
        onRecalled: delivering.poster.recall,
      })
    : undefined;
  const listener = countedMoves(metrics, webhooks);
  const fleet = config.roles.has("sender")
    ? carrierFleet({
        db: sendDb,
        recordDb,
        clock,
        log,
        metrics,
        secrets,
        node,
        listener,
        tracer,
      })
    : undefined;
  const acceptBatched = acceptor({
    db: acceptDb,
    clock,
    log,
    metrics,
    settings: { nodeId, ...limits },
    intake: fleet?.intake,
  });
  const accept = tracer ? tracedAccept({ accept: acceptBatched, tracer, clock }) : acceptBatched;

  const { bodyLimit, trustProxy } = config;
  const httpOptions = { publicUrl, bodyLimit, trustProxy, clock, log, metrics };
  const app = createHttpServer(httpOptions);
  if (tracer) traceRequests(app, { tracer, clock });
  const metricsApp = config.metricsListen && createHttpServer({ ...httpOptions, trustProxy: [] });
  serveHealth(app, { readiness: () => readiness(), publicUrl });
  serveMetrics(metricsApp ?? app, metrics);
  serveDocs(app, { version });
  const routing = routingTable(db);
  const handlers = messageHandlers({
    db,
    clock,
    accept,
    routing,
    judgeUrl: judge,
    concatReference: concatReferences(),
    pager: pager(
      deriveKey(secretKey, "posthorn cursors"),
      previousKey && deriveKey(previousKey, "posthorn cursors"),
    ),
    sources: {
      submissions: (from, { message_id }) => submissionHistory(from, message_id),
      webhooks: (from, { account_id, message_id }) =>
        webhookHistory(from, { accountId: account_id, messageId: message_id }),
    },
    limits,
    listener,
  });
  const refinements = sendRefinements({ clock, routing, judgeUrl: judge });
  if (config.roles.has("api")) {
    serveOperations(app, {
      operations,
      handlers,
      refinements,
      authenticator: authenticator({ db, limits, onUse: usage.note }),
      failures: failedAuthentications(config.rateLimitFailedAuth, clock),
      metrics,
    });
  } else refuseOperations(app);

  const consoleLoops = config.roles.has("dashboard")
    ? serveConsole(app, {
        db: consoleDb,
        clock,
        log,
        metrics,
        secretKey,
        secrets,
        publicUrl,
        version,
        api: handlers,
        refinements,
        routing,
        delivering,
        ...(pages ? { pages } : {}),
      })
    : [];

  let running: RunningLoop[] = [];

  async function readiness(): Promise<string[]> {
    if (running.length === 0) return ["the service is starting"];
    return compareMigrations(db).then(
      ({ missing }) => missing.map((name) => `the database lacks ${name}`),
      () => ["the database cannot be reached"],
    );
  }

  const present = presence(db, node);
  const loops: Loop[] = [
    ...("follow" in clock ? [followDatabase(clock, db)] : []),
    usage.loop,
    ...consoleLoops,
    ...(fleet?.loops ?? [present.loop]),
    ...(spans ? [spans.loop] : []),
    ...(webhooks ? [continueReplays(deliverDb)] : []),
    ...housekeeping(config, { db, clock, log, metrics, listener }),
  ];
  return {
    app,
    setupLink: () => setupLink({ db, clock, publicUrl }),
    async start() {
      await pools.open();
      if (config.metricsListen) await metricsApp?.listen(config.metricsListen);
      await fleet?.start();
      running = loops.map((loop) => runLoop(loop, { clock, log }));
      webhooks?.start();
    },
    async stop() {
      // In parallel: a client that is slow to read its answer must not delay the carriers' unbind.
      await Promise.all([app.close(), metricsApp?.close(), fleet?.stop()]);
      await webhooks?.stop();
      await delivering.poster.close();
      await Promise.all(running.map((loop) => loop.stop()));
      if (!fleet) await present.signOff().catch(() => undefined);
      await usage
        .flush()
        .catch((error: unknown) => log.warn({ error }, "the last use of keys could not be noted"));
      await spans?.flush();
      await pools.close();
    },
  };
}

/** What posts webhooks to receivers: shared by this node's delivery loop and by test deliveries. */
function deliveryParts({ config, storage, clock }: Parts, secrets: SecretBox) {
  const policy = servicePolicy({ settings: config, ...storage });
  const poster = servicePoster(systemEgress(policy, clock));
  const lanes = laneKeeper({ clock });
  return { clock, secrets, lanes, poster, policy, version };
}

type HousekeepingDeps = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  listener: MoveListener;
};

/** The loops that every node runs, whatever its roles. */
function housekeeping(config: Config, { db, clock, log, metrics, listener }: HousekeepingDeps) {
  return [
    sweepIdempotency(db),
    expireMessages({ db, clock, listener }),
    ...statisticsLoops({ db, clock }),
    keepPartitions({ db, log, metrics, keepDays: config.retentionMessagesDays }),
    keepAttempts({ db, metrics, keepDays: config.retentionAttemptsDays }),
    ...(config.redactTextDays > 0 ? [redactTexts({ db, days: config.redactTextDays })] : []),
    observeSending({ db, metrics }),
    observeWebhooks({ db, metrics }),
    sweepFollowed(db),
  ];
}
