import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Queryable, systemClock } from "#platform";
import { attempt, type Check } from "./check.ts";
import { checkClock, checkDatabase, checkStandbys, judgeMigrations } from "./database.ts";
import { checkDisk, checkPermissions, hasCluster } from "./folder.ts";
import { checkService } from "./readiness.ts";

/** A database that answers every question with these rows. */
function answering(...rows: object[]): Queryable {
  return { query: <Row extends object>() => Promise.resolve(rows as Row[]) };
}

const SOUND = { version: "18.4", data_checksums: "on", is_standby: false };

test("a standby instead of the primary is a fault", async () => {
  const [found] = await checkDatabase(answering({ ...SOUND, is_standby: true }));

  assert.equal(found?.state, "fault");
});

test("a disk whose faults may go unnoticed is a warning; with checksums, all is well", async () => {
  const blind = await checkDatabase(answering({ ...SOUND, data_checksums: "off" }));
  const sound = await checkDatabase(answering(SOUND));

  assert.deepEqual(
    blind.map(({ state }) => state),
    ["ok", "warning"],
  );
  assert.ok(sound.every(({ state }) => state === "ok"));
});

test("standbys that all lag behind are a warning; one that commits wait for is fine, and so is none", async () => {
  const lagging = { name: "b", sync_state: "async" };

  const alone = await checkStandbys(answering(lagging));
  const together = await checkStandbys(answering(lagging, { name: "c", sync_state: "sync" }));
  const several = await checkStandbys(answering(lagging, { name: "c", sync_state: "quorum" }));
  const none = await checkStandbys(answering());

  assert.deepEqual(
    [alone.state, together.state, several.state, none.state],
    ["warning", "ok", "ok", "ok"],
  );
});

test("a standby that the role may not inspect is not called asynchronous", async () => {
  const hidden = { name: "b", sync_state: null };
  for (const standbys of [[hidden], [hidden, { name: "c", sync_state: "async" }]]) {
    const found = await checkStandbys(answering(...standbys));

    assert.doesNotMatch(found.message, /asynchronous/);
    assert.match(found.fix ?? "", /grant pg_read_all_stats/);
  }
});

for (const [state, skewMs] of [
  ["ok", 0],
  ["ok", 1_000],
  ["ok", -1_000],
  ["warning", 1_001],
  ["warning", -1_001],
  ["warning", 30_000],
  ["warning", -30_000],
  ["fault", 30_001],
  ["fault", -30_001],
] as const) {
  test(`a database clock ${skewMs} ms from ours is: ${state}`, async () => {
    const clock = { ...systemClock, now: () => new Date(1_000_000) };

    const found = await checkClock(answering({ now: new Date(1_000_000 + skewMs) }), clock);

    assert.equal(found.state, state);
  });
}

test("a database that takes long to answer is not taken for one with another clock", async () => {
  let nowMs = 1_000_000;
  const clock = { ...systemClock, now: () => new Date((nowMs += 5_000)) };

  const ahead = await checkClock(answering({ now: new Date(nowMs + 9_000) }), clock);
  const behind = await checkClock(answering({ now: new Date(nowMs + 4_500) }), clock);

  assert.deepEqual([ahead.state, behind.state], ["ok", "ok"]);
});

test("missing migrations are a fault that names the command, and so are those of a newer version", () => {
  const found = judgeMigrations({ missing: ["0007_sending.sql"], newer: [] });
  const newer = judgeMigrations({ missing: [], newer: ["9999_folders.sql"] });

  assert.deepEqual([found.state, found.fix], ["fault", "Run: npx posthorn migrate"]);
  assert.equal(newer.state, "fault");
  assert.match(newer.message, /9999_folders\.sql/);
});

test("secrets that others may read are a fault, a folder that they may write to is a warning, each with the command that closes it", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-doctor-"));
  const key = join(dataDir, "secret.key");
  await writeFile(key, "secret", { mode: 0o600 });
  try {
    const closed = await checkPermissions({ dataDir });
    await chmod(dataDir, 0o720);
    const replaceable = await checkPermissions({ dataDir });
    await chmod(key, 0o640);
    const open = await checkPermissions({ dataDir });

    assert.equal(closed.state, "ok");
    assert.deepEqual(
      [replaceable.state, replaceable.fix],
      ["warning", `Close it to others: chmod 700 ${dataDir}`],
    );
    assert.deepEqual([open.state, open.fix], ["fault", `Close them to others: chmod 600 ${key}`]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test("whoever others are, they may neither read a secret nor write to its folder", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-doctor-"));
  const password = join(dataDir, "postgresql.password");
  await writeFile(password, "secret", { mode: 0o600 });
  try {
    for (const mode of [0o640, 0o620, 0o604, 0o602]) {
      await chmod(password, mode);
      const { state, message } = await checkPermissions({ dataDir });
      assert.deepEqual([state, message], ["fault", `Others may read ${password}.`]);
    }
    await chmod(password, 0o600);
    for (const mode of [0o720, 0o702]) {
      await chmod(dataDir, mode);
      assert.equal((await checkPermissions({ dataDir })).state, "warning");
    }
    await chmod(dataDir, 0o755);
    assert.equal((await checkPermissions({ dataDir })).state, "ok");
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test("a settings file with secrets that others may read is a fault", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-doctor-"));
  const secretsFile = join(dataDir, "posthorn.toml");
  await writeFile(secretsFile, "secret_key = …", { mode: 0o644 });
  try {
    const open = await checkPermissions({ dataDir, secretsFile });
    await chmod(secretsFile, 0o600);
    const closed = await checkPermissions({ dataDir, secretsFile });

    assert.deepEqual(
      [open.state, open.fix],
      ["fault", `Close them to others: chmod 600 ${secretsFile}`],
    );
    assert.equal(closed.state, "ok");
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test(
  "a full disk is a fault, for the next start would be refused",
  { skip: process.platform === "linux" ? false : "there is no file system that is always full" },
  async () => {
    const found = await checkDisk({ dataDir: "/proc" });

    assert.deepEqual(
      [found.state, found.message],
      ["fault", "0 MB are free on the disk of /proc."],
    );
  },
);

test("a folder that cannot be seen is not taken for a missing one", async () => {
  const dataDir = join(import.meta.filename, "data");

  await assert.rejects(checkPermissions({ dataDir }), /cannot be seen \(ENOTDIR\)/);
  await assert.rejects(hasCluster({ dataDir }), /cannot be seen \(ENOTDIR\)/);
});

test("a service that does not answer is a warning, not a fault", async () => {
  const found = await checkService({ host: "127.0.0.1", port: 9 });

  assert.equal(found.state, "warning");
  assert.match(found.fix ?? "", /npm start.* PORT/);
});

for (const [host, origin] of [
  ["0.0.0.0", "http://127.0.0.1:9"],
  ["::", "http://[::1]:9"],
  ["::1", "http://[::1]:9"],
] as const) {
  test(`a service that listens on ${host} is asked at ${origin}`, async () => {
    const { message } = await checkService({ host, port: 9 });

    assert.equal(message, `Nothing answers at ${origin}/readyz.`);
  });
}

/** What doctor finds of a service that answers with these statuses. */
async function serviceThatAnswers(ready: number, dashboard: number): Promise<Check> {
  const service = createServer((request, response) =>
    response.writeHead(request.url === "/" ? dashboard : ready).end(),
  ).listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  const found = await checkService({ host: "127.0.0.1", port });
  service.close();
  return found;
}

test("a service that is not ready is a warning that points at its log", async () => {
  const { state, fix } = await serviceThatAnswers(503, 200);

  assert.deepEqual([state, fix], ["warning", "Look at the service's log."]);
});

test("a service whose dashboard is not built is a warning, with how to build it; one without a dashboard is fine", async () => {
  const unbuilt = await serviceThatAnswers(200, 503);
  const without = await serviceThatAnswers(200, 404);

  assert.equal(unbuilt.state, "warning");
  assert.match(unbuilt.fix ?? "", /npm run build$/);
  assert.equal(without.state, "ok");
});

test("a check that throws is a finding of its own", async () => {
  const found = await attempt("disk", () => Promise.reject(new Error("It is gone.")));

  assert.partialDeepStrictEqual(found, [{ name: "disk", state: "fault", message: "It is gone." }]);
});
