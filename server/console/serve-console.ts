import type { FastifyInstance } from "fastify";
import type { operations } from "#contract";
import { type Handlers, pager, type Refinement } from "#http";
import type { RoutingTable } from "#messages";
import {
  type Clock,
  type Database,
  deriveKey,
  type Log,
  type Loop,
  type Metrics,
  type SecretBox,
} from "#platform";
import { auditHandlers } from "./audit-handlers.ts";
import { carrierHandlers } from "./carrier-handlers.ts";
import type { ConsoleHandlers } from "./console-call.ts";
import { creditHandlers } from "./credit-handlers.ts";
import { keyHandlers } from "./key-handlers.ts";
import { linkHandlers } from "./link-handlers.ts";
import { consoleMessageHandlers } from "./message-handlers.ts";
import { noteCommits } from "./note-commits.ts";
import { operatorHandlers } from "./operator-handlers.ts";
import { operatorNews } from "./operator-news.ts";
import { routingHandlers } from "./routing-handlers.ts";
import { secondFactorHandlers } from "./second-factor-handlers.ts";
import { secretHandlers } from "./secret-handlers.ts";
import { serveConsoleOperations } from "./serve-console-operations.ts";
import { signInHandlers } from "./sign-in-handlers.ts";
import { passwords } from "./sign-in/password.ts";
import { sessionCookie } from "./sign-in/session-cookie.ts";
import { type Pages, serveStaticFiles } from "./static-files.ts";
import { statsHandlers } from "./stats-handlers.ts";
import { streamHandlers } from "./stream-handlers.ts";
import { streamHub } from "./stream-hub.ts";
import { sweepLoop } from "./sweep.ts";
import { teamHandlers } from "./team-handlers.ts";
import { userHandlers } from "./user-handlers.ts";
import { webhookHandlers, type WebhookDeps } from "./webhook-handlers.ts";

export type ConsoleDeps = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secretKey: Buffer;
  secrets: SecretBox;
  publicUrl: string;
  version: string;
  /** The handlers of `/v1` and what refines their answers: a page sends by the same code. */
  api: Handlers<typeof operations>;
  refinements: Partial<Record<keyof typeof operations, Refinement>>;
  routing: RoutingTable;
  delivering: WebhookDeps["delivering"];
  /** If left out, only the operations are served. */
  pages?: Pages;
};

/** Serves the dashboard; returns the loops it needs in the background. */
export function serveConsole(app: FastifyInstance, deps: ConsoleDeps): Loop[] {
  const { db, clock, log, metrics, secretKey, publicUrl, refinements } = deps;
  const isSecure = publicUrl.startsWith("https:");
  const cookie = sessionCookie({ key: deriveKey(secretKey, "posthorn sessions"), isSecure });
  const hub = streamHub({ db, clock, operatorNews: operatorNews(db) });
  app.addHook("preClose", (done) => {
    hub.close();
    done();
  });
  const handlers = consoleHandlers({ ...deps, db: noteCommits(db) }, { cookie, hub });
  serveConsoleOperations(app, {
    db,
    clock,
    log,
    metrics,
    cookie,
    publicUrl,
    handlers,
    refinements: {
      ...(refinements.sendMessage ? { composeMessage: refinements.sendMessage } : {}),
      ...(refinements.previewMessage ? { previewConsoleMessage: refinements.previewMessage } : {}),
    },
  });
  if (deps.pages) serveStaticFiles(app, { pages: deps.pages, clock, log });
  return [sweepLoop(db, clock), hub.loop];
}

function consoleHandlers(
  deps: ConsoleDeps,
  { cookie, hub }: { cookie: ReturnType<typeof sessionCookie>; hub: ReturnType<typeof streamHub> },
): ConsoleHandlers {
  const { secretKey } = deps;
  const signIn = {
    ...deps,
    cookie,
    passwords: passwords(),
  };
  const lists = {
    ...deps,
    pager: pager(deriveKey(secretKey, "posthorn console cursors")),
  };
  return {
    ...signInHandlers(signIn),
    ...secondFactorHandlers(signIn),
    ...linkHandlers(signIn),
    ...userHandlers(deps),
    ...keyHandlers(lists),
    ...consoleMessageHandlers(lists),
    ...webhookHandlers(lists),
    ...secretHandlers(deps),
    ...creditHandlers(lists),
    ...statsHandlers(deps),
    ...teamHandlers({ ...lists, cookie }),
    ...streamHandlers(hub),
    ...operatorHandlers(lists),
    ...carrierHandlers(deps),
    ...routingHandlers(deps),
    ...auditHandlers(lists),
  };
}
