import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startSending } from "../test/support/sending.ts";
import { buildSdk, PACKAGE_NAME } from "./build.ts";
import { generateModel } from "./generate-model.ts";
import { readVectors } from "./webhook-vectors.ts";

/** A user's project, with the built package installed and nothing else of ours. */
const project = mkdtempSync(join(tmpdir(), "posthorn-sdk-"));
const built = join(project, "node_modules", PACKAGE_NAME);

const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);

before(() => {
  buildSdk(built);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
});

after(() => rmSync(project, { recursive: true }));

test("the types are those of the contract; if not, run npm run generate", async () => {
  const written = readFileSync(new URL("model.ts", import.meta.url), "utf8");
  assert.equal(written, await generateModel());
});

test("the package holds its license, and every page that one of its pages links to", () => {
  const names = readdirSync(built);
  const pages = names.filter((name) => name.endsWith(".md"));
  const links = pages.flatMap((name) => [
    ...readFileSync(join(built, name), "utf8").matchAll(/\]\((?!https:)([^)#]+)/g),
  ]);

  assert.ok(links.length > 0 && names.includes("LICENSE"));
  assert.deepEqual(
    links.map(([, target = ""]) => target).filter((target) => !names.includes(target)),
    [],
  );
});

test("every snippet of the README compiles against the built package", () => {
  assert.ok(snippets.length >= 5);
  for (const [n, code] of snippets.entries()) {
    writeFileSync(join(project, `snippet-${n}.ts`), code);
  }
  // Only Node's types, as a TypeScript project has them.
  const types = join(project, "node_modules", "@types", "node");
  mkdirSync(types, { recursive: true });
  cpSync(packageFolder("@types/node"), types, { recursive: true });
  cpSync(packageFolder("undici-types"), join(project, "node_modules", "undici-types"), {
    recursive: true,
  });
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    types: ["node"],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));

  const tsc = join(packageFolder("typescript"), "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", project]);

  assert.equal(status, 0, stdout.toString());
});

test("every snippet of the README that calls the service runs without a fault", async () => {
  // The README's callback addresses belong to others, so send no webhooks.
  await using world = await startSending({ api: { settings: { ROLES: "api,sender" } } });
  const { service, key } = world.api;
  await service.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = service.app.server.address() as AddressInfo;
  const calling = snippets.filter((code) => code.includes("new Posthorn("));
  assert.ok(calling.length >= 4);

  for (const [n, code] of calling.entries()) {
    const here = code.replace("http://127.0.0.1:8080", `http://127.0.0.1:${port}`);
    writeFileSync(join(project, `calling-${n}.ts`), here);
  }
  const all = calling.map((_, n) => `import "./calling-${n}.ts";`).join("\n");
  writeFileSync(join(project, "calling.js"), all);

  // Asynchronous, because the service that it calls runs in this process.
  await promisify(execFile)(process.execPath, ["calling.js"], {
    cwd: project,
    env: { ...process.env, POSTHORN_API_KEY: key },
    timeout: 60_000,
  });
});

const nodes = { "this Node": process.execPath, "the machine's own Node": findOwnNode() };
for (const [name, node] of Object.entries(nodes)) {
  if (node === null) continue;
  test(`the built package runs on ${name}`, () => {
    writeFileSync(
      join(project, "use.js"),
      `
import { createServer } from "node:http";
import { Posthorn, verifyWebhook } from "${PACKAGE_NAME}";
const { body, headers, secrets, timestamp } = JSON.parse(process.argv[2]);
const event = verifyWebhook(body, headers, secrets, { now: new Date(timestamp * 1000) });
const server = createServer((request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify({ messageId: event.messageId, data: [], nextCursor: null })));
});
server.listen(0, "127.0.0.1", async () => {
  const posthorn = new Posthorn({ apiKey: "sms_x", baseUrl: "http://127.0.0.1:" + server.address().port });
  const { messageId } = await posthorn.messages.send({ recipient: "4915112345678", text: "Hello" }, { signal: AbortSignal.timeout(5000) });
  for await (const message of posthorn.messages.list({ status: "SENT" })) console.log(message);
  console.log(messageId);
  server.closeAllConnections();
  server.close();
});`,
    );

    const [vector] = readVectors().valid;
    const printed = execFileSync(node, ["use.js", JSON.stringify(vector)], {
      cwd: project,
      timeout: 30_000,
    });

    assert.equal(printed.toString().trim(), "01936f2a-7c00-7000-8000-000000000001");
  });
}

test("CommonJS code gets the package through require", () => {
  const code = `console.log(typeof require("${PACKAGE_NAME}").Posthorn)`;
  const flags = ["--input-type=commonjs", "--eval", code];

  const printed = execFileSync(process.execPath, flags, { cwd: project, timeout: 30_000 });

  assert.equal(printed.toString().trim(), "function");
});

/** npm scripts put the pinned Node first; this looks past it. */
function findOwnNode(): string | null {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const folder of folders.filter((each) => !each.includes("node_modules"))) {
    const node = join(folder, "node");
    const { stdout } = spawnSync(node, ["--version"]);
    const major = Number(/^v(\d+)/.exec(stdout?.toString() ?? "")?.[1] ?? 0);
    if (major >= 20) return node;
  }
  return null;
}

function packageFolder(name: string): string {
  return join(fileURLToPath(import.meta.resolve(`${name}/package.json`)), "..");
}
