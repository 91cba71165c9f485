import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Problem, serveFallback } from "#http";
import type { Clock, Log } from "#platform";

type StaticFile = { path: string; encodings: ("br" | "gzip")[] };
type Site = {
  index: string;
  files: Map<string, StaticFile>;
  read: (path: string) => Promise<Buffer>;
};

const TYPES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
};

/** The first segments of the dashboard's paths, as in `dashboard/routes.tsx`. */
export const PAGES: ReadonlySet<string> = new Set([
  "compose",
  "credits",
  "join",
  "keys",
  "messages",
  "operator",
  "profile",
  "reset",
  "settings",
  "setup",
  "sign-in",
  "team",
  "webhooks",
]);

/** The build puts this mark into the page; we replace it. */
const NONCE_MARK = "__CSP_NONCE__";

/**
 * Serves the built dashboard: its files, and its one page at each of its addresses. For an unknown
 * path, programs get an error, and browsers get the page with status 404, which tells people. Under
 * `/console`, `/v1` and `/assets` it is an error for everyone.
 */
export function serveStaticFiles(app: FastifyInstance, deps: SiteDeps): void {
  const currentSite = keepSite(deps);
  serveFallback(app, async (request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "/";
    if (request.method !== "GET" && request.method !== "HEAD") return false;
    const [, first = ""] = path.split("/", 2);
    if (first === "v1" || first === "console") return false;
    const isPage = path === "/" || PAGES.has(first);
    const site = await currentSite();
    if (!site) return isPage ? sayUnbuilt(reply) : false;
    const { index, files, read } = site;
    const file = files.get(path);
    if (file) return sendFile(request, reply, { file, path, read });
    if (isPage) return sendPage(reply, index);
    if (first === "assets" || !isBrowser(request)) return false;
    return sendPage(reply.code(404), index);
  });
}

/** Builds the pages and returns their folder. */
export type Pages = () => Promise<string>;
type SiteDeps = { pages: Pages; clock: Clock; log: Log };

/** After a failed build, try again, as it may be fixed; builds are costly, so ever less often. */
const AGAIN_AFTER_MS = 10_000;
const LONGEST_WAIT_MS = 600_000;

/** The built site; undefined after a failed build, also while it is tried again. */
function keepSite({ pages, clock, log }: SiteDeps): () => Promise<Site | undefined> {
  let waitMs = AGAIN_AFTER_MS;
  let againAtMs = Infinity;
  let site = read();

  async function read(): Promise<Site | undefined> {
    try {
      return await readSite(await pages());
    } catch (error) {
      againAtMs = clock.monotonicMs() + waitMs;
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      // Stopping the service aborts the build too.
      if (!(error instanceof Error && error.name === "AbortError"))
        log.error({ error }, "the dashboard could not be built; npm run build says why");
      return undefined;
    }
  }

  return () => {
    if (clock.monotonicMs() >= againAtMs) {
      againAtMs = Infinity;
      void read().then((anew) => {
        if (anew) site = Promise.resolve(anew);
      });
    }
    return site;
  };
}

async function sayUnbuilt(reply: FastifyReply): Promise<true> {
  await reply
    .code(503)
    .type("text/plain; charset=utf-8")
    .headers({ "cache-control": "no-store", "retry-after": String(AGAIN_AFTER_MS / 1000) })
    .send("The dashboard is not built. In Posthorn's folder, run: npm run build\n");
  return true;
}

/** Only browsers list HTML first in what they accept; other clients take anything, or JSON. */
function isBrowser({ headers }: FastifyRequest): boolean {
  return /^\s*text\/html\s*(?:,|$)/i.test(headers.accept ?? "");
}

async function readSite(folder: string): Promise<Site> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((each) => join(each.parentPath, each.name));
  const known = new Set(paths);
  const served = paths.filter((path) => TYPES[extname(path)] !== undefined);
  const files = served.map((path): [string, StaticFile] => [
    `/${relative(folder, path).split(sep).join("/")}`,
    {
      path,
      encodings: [
        ...(known.has(`${path}.br`) ? (["br"] as const) : []),
        ...(known.has(`${path}.gz`) ? (["gzip"] as const) : []),
      ],
    },
  ]);
  const index = await readFile(join(folder, "index.html"), "utf8");
  return { index, files: new Map(files), read: readOnce() };
}

/** Concurrent and slow readers share one copy in memory. A failed read is not remembered. */
function readOnce(): Site["read"] {
  const contents = new Map<string, Promise<Buffer>>();
  return (path) =>
    contents.getOrInsertComputed(path, () =>
      readFile(path).catch((error: unknown) => {
        contents.delete(path);
        throw error;
      }),
    );
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, path, read }: { file: StaticFile; path: string; read: Site["read"] },
): Promise<true> {
  const accepted = acceptedEncodings(request.headers["accept-encoding"]);
  const encoding = file.encodings.find((each) => accepted.includes(each));
  const suffix = encoding === "br" ? ".br" : ".gz";
  const content = await read(encoding ? `${file.path}${suffix}` : file.path).catch(() => {
    // A newer build has replaced the files while we run.
    throw new Problem("ROUTE_NOT_FOUND");
  });
  const isHashed = path.startsWith("/assets/");
  await reply
    .type(TYPES[extname(file.path)] ?? "application/octet-stream")
    .headers({
      "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...(encoding ? { "content-encoding": encoding } : {}),
    })
    .send(content);
  return true;
}

/** For example, `br, gzip;q=0` gives only br. */
function acceptedEncodings(header = ""): string[] {
  return header
    .toLowerCase()
    .split(",")
    .filter((each) => !/;\s*q=0(?:\.0*)?\s*$/.test(each))
    .map((each) => each.replace(/;.*$/, "").trim());
}

async function sendPage(reply: FastifyReply, index: string): Promise<true> {
  const nonce = randomBytes(16).toString("base64");
  await reply
    .type("text/html; charset=utf-8")
    .headers({ "cache-control": "no-store", "content-security-policy": policy(nonce) })
    .send(index.replaceAll(NONCE_MARK, nonce));
  return true;
}

function policy(nonce: string): string {
  return `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
}
