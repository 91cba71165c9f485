import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { silentLog, systemClock } from "#platform";
import { problemOf } from "../../test/support/answers.ts";
import { bareServer } from "../../test/support/bare-server.ts";
import { eventually } from "../../test/support/eventually.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { PAGES, serveStaticFiles } from "./static-files.ts";

const PAGE = '<meta property="csp-nonce" nonce="__CSP_NONCE__"><div id="root"></div>';
const SCRIPT = "console.log('a')";

async function startSite({ clock = systemClock, failures = 0 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-site-"));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), PAGE);
  await writeFile(join(folder, "sources.sha256"), "0");
  await writeFile(join(folder, "favicon.svg"), "<svg/>");
  await writeFile(join(folder, "assets", "main-Ab3d.js"), SCRIPT);
  await writeFile(join(folder, "assets", "main-Ab3d.js.br"), brotliCompressSync(SCRIPT));
  await writeFile(join(folder, "assets", "main-Ab3d.js.gz"), gzipSync(SCRIPT));
  const app = bareServer();
  app.get("/healthz", () => ({ status: "ok" }));
  app.post("/console/proof", () => ({}));
  let builds = 0;
  const pages = () =>
    ++builds > failures ? Promise.resolve(folder) : Promise.reject(new Error("It is read-only."));
  serveStaticFiles(app, { pages, clock, log: silentLog });
  return {
    app,
    folder,
    builds: () => builds,
    get: (url: string, headers: Record<string, string> = {}) =>
      app.inject({ url, headers: { host: "x", ...headers } }),
    async [Symbol.asyncDispose]() {
      await app.close();
      await rm(folder, { recursive: true });
    },
  };
}

test("every path of the dashboard gets the page, each time with a nonce of its own", async () => {
  await using site = await startSite();

  const pages = [
    await site.get("/"),
    await site.get("/messages/x?status=FAILED"),
    await site.get("/setup"),
  ];

  const nonces = pages.map(({ body, headers, statusCode }) => {
    assert.equal(statusCode, 200);
    assert.match(String(headers["content-type"]), /^text\/html/);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.equal(headers["x-content-type-options"], "nosniff");
    const nonce = /nonce="([^"]+)"/.exec(body)?.[1] ?? "";
    assert.equal(
      headers["content-security-policy"],
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    return nonce;
  });
  assert.equal(new Set(nonces).size, 3);
  assert.equal(pages[0]?.headers["strict-transport-security"], undefined);
});

test("assets are kept for ever, compressed as the browser takes them, and a missing one is missing", async () => {
  await using site = await startSite();
  const asset = "/assets/main-Ab3d.js";

  const brotli = await site.get(asset, { "accept-encoding": "gzip, deflate, br" });
  assert.equal(brotli.headers["content-encoding"], "br");
  assert.match(String(brotli.headers["cache-control"]), /immutable/);
  assert.match(String(brotli.headers["content-type"]), /^text\/javascript/);
  assert.equal(
    (await site.get(asset, { "accept-encoding": "gzip" })).headers["content-encoding"],
    "gzip",
  );
  for (const accepted of [undefined, "identity", "br;q=0, gzip; q=0.0", "x-br, gzip-2"]) {
    const plain = await site.get(asset, accepted ? { "accept-encoding": accepted } : {});
    assert.deepEqual([plain.body, plain.headers["content-encoding"]], [SCRIPT, undefined]);
  }
  const fussy = await site.get(asset, { "accept-encoding": "br;q=0, GZIP;q=0.5" });
  assert.equal(fussy.headers["content-encoding"], "gzip");
  assert.equal((await site.get("/favicon.svg")).body, "<svg/>");
  for (const missing of [
    "/assets/main-old.js",
    "/assets/../index.html",
    "/assets/%2e%2e/index.html",
  ]) {
    const answer = await site.get(missing);
    assert.ok(answer.statusCode === 404 || answer.headers["cache-control"] === "no-store", missing);
  }
  assert.equal((await site.get("/assets/main-old.js")).json().error.code, "ROUTE_NOT_FOUND");
});

test("under /console and /v1 an unknown path is an error, and other methods never get the page", async () => {
  await using site = await startSite();

  for (const path of ["/v1", "/v1/nothing", "/console", "/console/nothing", "/console/accounts/x"])
    assert.equal((await site.get(path)).json().error.code, "ROUTE_NOT_FOUND", path);
  assert.equal((await site.get("/console/proof")).json().error.code, "METHOD_NOT_ALLOWED");
  const post = await site.app.inject({ method: "POST", url: "/messages", headers: { host: "x" } });
  assert.equal(post.json().error.code, "ROUTE_NOT_FOUND");
  assert.equal((await site.get("/healthz")).json().status, "ok");
});

test("an unknown path is an error, shown to a browser as a page", async () => {
  await using site = await startSite();

  for (const path of ["/nope", "/v2/messages", "/v1x", "/.env", "/robots.txt"]) {
    const answer = await site.get(path, { accept: "*/*" });
    assert.equal(answer.statusCode, 404, path);
    assert.equal(answer.json().error.code, "ROUTE_NOT_FOUND", path);
    assert.equal(answer.json().error.requestId, answer.headers["x-request-id"], path);
  }
  for (const accept of ["application/json, text/html;q=0.1", "text/html;q=0, application/json"])
    problemOf(await site.get("/nope", { accept }), "ROUTE_NOT_FOUND");
  const shown = await site.get("/nope", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  assert.equal(shown.statusCode, 404);
  assert.match(shown.body, /<div id="root">/);
});

test("pages that could not be built are reported missing, and built again soon, then less often", async () => {
  const clock = manualClock();
  await using site = await startSite({ clock, failures: 2 });

  const missing = [await site.get("/"), await site.get("/messages")];
  assert.equal(site.builds(), 1, "not for every request");
  problemOf(await site.get("/wp-login.php"), "ROUTE_NOT_FOUND");
  clock.advance(10_000);
  missing.push(...(await Promise.all([site.get("/"), site.get("/")])));
  clock.advance(19_999);
  missing.push(await site.get("/"));
  assert.equal(site.builds(), 2);
  clock.advance(1);
  missing.push(await site.get("/"));
  const built = await eventually("it is built", async () => {
    const answer = await site.get("/");
    return answer.statusCode !== 503 && answer;
  });

  for (const { statusCode, body } of missing) {
    assert.equal(statusCode, 503);
    assert.match(body, /run: npm run build\n$/);
  }
  assert.equal(built.statusCode, 200);
});

test("the addresses that get the page are those that the dashboard has", async () => {
  const routes = await readFile(new URL("../../dashboard/routes.tsx", import.meta.url), "utf8");
  const declared = routes.matchAll(
    /getParentRoute: \(\) => (?:root|signedIn),\s+path: "\/([^"/$]+)/g,
  );

  assert.deepEqual(new Set([...declared].map(([, first]) => first)), PAGES);
});

test("a file is read once, and shared by all who ask for it", async () => {
  await using site = await startSite();
  await site.get("/assets/main-Ab3d.js");
  await writeFile(join(site.folder, "assets", "main-Ab3d.js"), "console.log('b')");

  assert.equal((await site.get("/assets/main-Ab3d.js")).body, SCRIPT);
});

test("a file that could not be read is read again when it is next asked for", async () => {
  await using site = await startSite();
  await site.get("/");
  await rm(join(site.folder, "favicon.svg"));
  problemOf(await site.get("/favicon.svg"), "ROUTE_NOT_FOUND");

  await writeFile(join(site.folder, "favicon.svg"), "<svg/>");
  assert.equal((await site.get("/favicon.svg")).body, "<svg/>");
});
