import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../server/config.ts";
import { describeSettings } from "../server/settings.ts";
import { startCollector } from "./support/collector.ts";
import { eventually } from "./support/eventually.ts";
import { startReceiver } from "./support/receiver.ts";
import { type Scrape, scrape } from "./support/scrape.ts";
import { startSending } from "./support/sending.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const ALERTS = read("deploy/prometheus/alerts.yaml");
const DASHBOARD = read("deploy/grafana/posthorn.json");
const COMPOSE = read("deploy/compose.yaml");
const DOCKERFILE = read("deploy/Dockerfile");

test("every metric used by alerts and the dashboard exists, with the labels they use", async () => {
  const { names, samples } = await scrapeBusyNode();
  const used = [ALERTS, DASHBOARD].flatMap(metricsIn);
  const labels = Map.groupBy(samples, ({ name }) => base(name));
  const labelsOf = (name: string) =>
    (labels.get(base(name)) ?? []).flatMap((sample) => Object.keys(sample.labels));

  assert.ok(new Set(used).size > 30);
  assert.deepEqual(
    used.filter((name) => !names.has(name) && !names.has(base(name))),
    [],
  );
  for (const expression of expressions()) {
    const known = metricsIn(expression).flatMap(labelsOf);
    const missing = labelsIn(expression).filter((label) => !known.includes(label));
    assert.deepEqual(missing, [], expression);
  }
});

/** A node that has sent, refused, failed and posted, so that all metrics have values and labels. */
async function scrapeBusyNode(): Promise<Scrape> {
  await using collector = await startCollector();
  await using receiver = await startReceiver();
  await using world = await startSending({
    smscs: [{ answer: "by_recipient" }],
    api: { settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ROLES } },
  });
  const callbackUrl = receiver.url;
  for (const recipient of ["4915112345678", "4915112340002", "4915112340008"]) {
    const { messageId } = await world.send({ recipient, text: "Hello", callbackUrl });
    await world.reached(messageId, "DELIVERED", "FAILED");
  }
  await world.api.send({}, { key: "sms_wrong" });
  return eventually("figures are read from the database", async () => {
    const told = await scrape(world.api);
    const isWhole = told.value("posthorn_webhook_oldest_due_seconds") !== undefined;
    return isWhole && told.value("posthorn_send_queue_messages") !== undefined && told;
  });
}

function expressions(): string[] {
  const inAlerts = alerts().map(
    ({ text }) => /expr: ([\s\S]*?)\n +(?:for|labels):/.exec(text)?.[1],
  );
  const inPanels = [...DASHBOARD.matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text?.replaceAll('\\"', '"'),
  );
  return [...inAlerts, ...inPanels].map((text = "") => text);
}

/** Labels that Prometheus adds to every sample, or derives for histograms. */
const GIVEN = new Set(["instance", "job", "le"]);

function labelsIn(expression: string): string[] {
  const matched = [...expression.matchAll(/[{,](\w+)\s*[=!]~?=?"/g)].map(([, label = ""]) => label);
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(",").map((label) => label.trim()),
  );
  return [...matched, ...grouped].filter((label) => !GIVEN.has(label));
}

const ROLES = "api,sender,webhooks,dashboard";

function metricsIn(text: string): string[] {
  return [...text.matchAll(/\bposthorn_[a-z0-9_]+/g)].map(([name]) => name);
}

/** A histogram has three series, with names of their own. */
function base(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, "");
}

type Alert = { name: string; text: string };

function alerts(): Alert[] {
  const [, ...texts] = ALERTS.split(/^ +- alert: /m);
  return texts.map((text) => ({ name: text.split("\n", 1)[0] ?? "", text }));
}

test("every alert has an expression, a severity, a summary, and its meaning in docs/operating.md", () => {
  const guide = read("docs/operating.md");

  assert.ok(alerts().length > 15);
  for (const { name, text } of alerts()) {
    assert.match(text, /^ +expr: /m, name);
    assert.match(text, /severity: (?:critical|warning)/, name);
    assert.match(text, /summary: "/, name);
    assert.ok(guide.includes(`\`${name}\``), `docs/operating.md does not explain ${name}`);
  }
});

test("the guide explains no alert that does not exist", () => {
  const names = new Set(alerts().map(({ name }) => name));
  const named = [...read("docs/operating.md").matchAll(/`(Posthorn[A-Z]\w+)`/g)];

  assert.deepEqual(
    named.map(([, name = ""]) => name).filter((name) => !names.has(name)),
    [],
  );
});

test("the dashboard is complete: panels have queries, ids are unique, nothing overlaps", () => {
  const { panels } = JSON.parse(DASHBOARD) as {
    panels: {
      id: number;
      type: string;
      title: string;
      targets?: { expr: string }[];
      gridPos: Place;
    }[];
  };

  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { type, targets, title } of panels)
    assert.ok(type === "row" || (targets ?? []).length > 0, title);
  const cells = panels.flatMap(({ gridPos }) => cellsOf(gridPos));
  assert.equal(new Set(cells).size, cells.length);
});

type Place = { x: number; y: number; w: number; h: number };

function cellsOf({ x, y, w, h }: Place): string[] {
  const columns = Array.from({ length: w }, (_, n) => x + n);
  const rows = Array.from({ length: h }, (_, n) => y + n);
  return rows.flatMap((row) => columns.map((column) => `${column},${row}`));
}

const POSTGRES_AT = COMPOSE.indexOf("\n  postgres:");
const [OURS, POSTGRES] = [COMPOSE.slice(0, POSTGRES_AT), COMPOSE.slice(POSTGRES_AT)];

test("deployments use only settings that exist", () => {
  const known = new Set(describeSettings().map(({ name }) => name));
  const ofOthers = ["PATH", "NODE_OPTIONS"];
  const inCompose = [...OURS.matchAll(/^ {6}([A-Z_]+):/gm)];
  const inUnits = globSync("deploy/systemd/*", { cwd: ROOT }).flatMap((path) => [
    ...read(path).matchAll(/^(?:Environment=)?([A-Z_]+)=/gm),
  ]);
  const inImage = [...DOCKERFILE.matchAll(/^(?:ENV| {4}) ?([A-Z_]+)=/gm)];

  assert.ok(inCompose.length >= 4 && inUnits.length >= 5 && inImage.length >= 3);
  const names = [...inCompose, ...inUnits, ...inImage].map(([, name = ""]) => name);
  assert.deepEqual(
    names.filter((name) => !known.has(name) && !ofOthers.includes(name)),
    [],
  );
});

test("every setting in .env reaches a composed service, except those that Compose must set", () => {
  assert.match(OURS, /^ {4}env_file:\n {6}- path: \.env\n/m);
  const fixed = [...OURS.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name);
  assert.deepEqual(fixed, ["SECRET_KEY", "DATABASE_URL", "PUBLIC_URL", "METRICS_LISTEN"]);
});

test("the guide names the address from which a proxy reaches a composed service", () => {
  const [, gateway] = /^ +gateway: (\S+)/m.exec(COMPOSE) ?? [];

  assert.ok(read("docs/operating.md").includes(`TRUST_PROXY=${gateway}`));
});

test("a composed service is not a superuser of its database", () => {
  assert.doesNotMatch(POSTGRES, /POSTGRES_USER/);
  assert.match(POSTGRES, /\.\/database\.sql:\/docker-entrypoint-initdb\.d\//);
  assert.match(read("deploy/database.sql"), /^create role posthorn login password :'password';$/m);
});

test("every way to start sets the same size for the young generation", () => {
  const ways = ["package.json", "bin/posthorn.mjs", "deploy/Dockerfile"].map(read);
  for (const text of [...ways, read("deploy/systemd/posthorn.service")]) {
    assert.match(text, /--max-semi-space-size=64\b/);
  }
});

test("a service that starts while its database is away is restarted until it is there", () => {
  const [unit = "", service = ""] = read("deploy/systemd/posthorn.service").split("[Service]");

  assert.match(unit, /^StartLimitIntervalSec=0$/m);
  assert.match(service, /^Restart=always$/m);
});

test("a stop by systemd leaves the embedded PostgreSQL to the service, which needs it to the end", () => {
  assert.match(read("deploy/systemd/posthorn.service"), /^KillMode=mixed$/m);
});

test("the sandbox lets the service list this machine's addresses", () => {
  assert.match(
    read("deploy/systemd/posthorn.service"),
    /^RestrictAddressFamilies=.*\bAF_NETLINK\b/m,
  );
});

test("the sandbox of the daily audit hides no process, so that it finds the service's embedded PostgreSQL", () => {
  assert.doesNotMatch(
    read("deploy/systemd/posthorn-audit.service"),
    /^(?:ProtectProc|ProcSubset)=/m,
  );
});

test("a deployment with the example's secrets is refused", () => {
  const example = Object.fromEntries(
    read("deploy/systemd/posthorn.env.example")
      .split("\n")
      .filter((line) => /^[A-Z]/.test(line))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

  assert.throws(() => readConfig(example, ROOT), /DATABASE_URL: has a placeholder/);
  const required = [...COMPOSE.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(required)].toSorted(), [
    "POSTGRES_PASSWORD",
    "PUBLIC_URL",
    "SECRET_KEY",
  ]);
});

test("the container runs as an ordinary user, on a read-only root, with a health check", () => {
  assert.match(DOCKERFILE, /^USER 10001:10001$/m);
  assert.match(DOCKERFILE, /^HEALTHCHECK [\s\S]*\/healthz/m);
  assert.match(COMPOSE, /read_only: true/);
  assert.match(COMPOSE, /cap_drop: \[ALL\]/);
  assert.doesNotMatch(DOCKERFILE, /:latest|curl .*\| *sh/);
});

test("the image is built by the command that prepares any installation, and that command exists", async () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

  assert.match(DOCKERFILE, /^RUN npm run build\b/m);
  assert.equal(scripts["build"], "node bin/with-node.mjs bin/prepare.mjs");
  await import(join(ROOT, "bin/prepare.mjs"));
});

test("every stage of the image has the library that the pinned Node needs", () => {
  const [, ...stages] = DOCKERFILE.split(/^FROM /m);

  assert.equal(stages.length, 2);
  for (const stage of stages) assert.match(stage, /apt-get install .*\blibatomic1\b/);
});

test("no package runs a script when it is installed", () => {
  assert.match(read(".npmrc"), /^ignore-scripts=true$/m);
});

test("an image includes everything the pages are built from, and no secrets", () => {
  const left = read("deploy/Dockerfile.dockerignore").split("\n").filter(Boolean);

  for (const needed of ["bin", "contract", "dashboard", "docs", "migrations", "server", "sdk"]) {
    assert.ok(existsSync(join(ROOT, needed)));
    assert.ok(!left.includes(needed), needed);
  }
  for (const secret of [".env", "deploy/.env", "data", "posthorn.toml", "**/*.dump"]) {
    assert.ok(left.includes(secret), `${secret} stays out of the image`);
  }
});

test("the guide names everything that doctor checks, and nothing else", () => {
  const sources = globSync("server/cli/doctor{-command.ts,/*.ts}", { cwd: ROOT })
    .filter((path) => !path.endsWith(".test.ts"))
    .map(read)
    .join("\n");
  const checked = [
    ...sources.matchAll(/(?:\b(?:ok|warning|fault)\(\s*|const name = )"([a-z ]+)"/g),
  ];
  const table = read("docs/operating.md").split("## What doctor finds")[1] ?? "";
  const named = [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );

  const names = new Set(checked.map(([, name]) => name));
  assert.deepEqual(named.toSorted(), [...names, "carrier NAME"].toSorted());
});

test("every file that the guides name or link to exists", () => {
  for (const guide of ["docs/operating.md", "docs/security.md"]) {
    const text = read(guide);
    const named = [...text.matchAll(/`((?:test|server|deploy)\/[\w./-]+\.\w+)`/g)];
    const linked = [...text.matchAll(/\]\(([\w./-]+)(?:#[\w-]+)?\)/g)].map(([, path = ""]) =>
      join("docs", path),
    );
    const paths = [...named.map(([, path = ""]) => path), ...linked];
    assert.ok(paths.length > 5);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(ROOT, path))),
      [],
      guide,
    );
  }
});

test("the guide names only settings and headings that exist", () => {
  const known = new Set(describeSettings().map(({ name }) => name));
  const guide = read("docs/operating.md");
  const settings = [...guide.matchAll(/`([A-Z][A-Z_]+_[A-Z_]+)(?:=[^`]*)?`/g)].map(
    ([, name = ""]) => name,
  );
  const headings = [...guide.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title.toLowerCase().replaceAll(" ", "-"),
  );
  const anchors = [...guide.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor = ""]) => anchor);

  const others = new Set(["QUEUE_FULL", "NODE_EXTRA_CA_CERTS"]);
  assert.deepEqual(
    settings.filter((name) => !known.has(name) && !others.has(name)),
    [],
  );
  assert.deepEqual(
    anchors.filter((anchor) => !headings.includes(anchor)),
    [],
  );
});
