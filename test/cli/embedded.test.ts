import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#platform";
import {
  callPosthorn,
  posthornJson,
  type RunningPosthorn,
  runPosthorn,
  startPosthorn,
  words,
} from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";

/** One data folder for the file; each test that needs a service starts and stops it. */
let folder: string;
let environment: Record<string, string>;
let accountId: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-cli-"));
  environment = { DATA_DIR: join(folder, "data"), PORT: "0", LOG_LEVEL: "warn" };
  ({ accountId } = await json<{ accountId: string }>`account create --name Acme --credits 100`);
});
after(() => rm(folder, { recursive: true, force: true }));

type Inserts = (string | number)[];

function json<Json>(texts: TemplateStringsArray, ...inserts: Inserts): Promise<Json> {
  return posthornJson<Json>(words(texts, ...inserts), { environment });
}

/** Runs beside a service, whose database stays, so it needs no process of its own. */
function beside<Json>(texts: TemplateStringsArray, ...inserts: Inserts): Promise<Json> {
  return posthornJson<Json>(words(texts, ...inserts), { environment, run: callPosthorn });
}

test("doctor creates nothing in an absent data folder", async () => {
  const nothing = join(folder, "nothing");
  const { data } = await posthornJson<{ data: { name: string; message: string }[] }>(["doctor"], {
    environment: { ...environment, DATA_DIR: nothing },
  });

  assert.match(data.find(({ name }) => name === "database")?.message ?? "", /^None yet/);
  await assert.rejects(stat(nothing), { code: "ENOENT" });
});

test("doctor says of a folder that the first start would refuse what to do about it", async () => {
  const taken = join(folder, "taken");
  await mkdir(join(taken, "postgresql", "of-somebody-else"), { recursive: true });
  const { stdout } = await runPosthorn(["doctor"], {
    environment: { ...environment, DATA_DIR: taken },
  });

  const { data } = JSON.parse(stdout) as { data: Record<"name" | "state" | "message", string>[] };
  const found = data.find(({ name }) => name === "database");
  assert.equal(found?.state, "fault");
  assert.match(found.message, /is no data folder of PostgreSQL\. Move it away/);
});

test("without a service, a command starts the database for itself and leaves no process", async () => {
  const { data } = await json<{ data: { name: string }[] }>`account list`;

  assert.partialDeepStrictEqual(data, [{ name: "Acme" }]);
  assert.equal(await isPostgresRunning(), false);
});

test("concurrent commands share that database, and the last one stops it", async () => {
  const runs = [1, 2].map(
    (n) => json<{ keyId: string }>`
    key create --account ${accountId} --name ${`key ${n}`} --scope messages:read`,
  );
  const keys = await Promise.all(runs);

  assert.equal(new Set(keys.map(({ keyId }) => keyId)).size, 2);
  assert.equal(await isPostgresRunning(), false);
});

test("an interrupted command stops the database it started, and has reported what it did", async () => {
  await using watching = startPosthorn(
    words`send --account ${accountId} --to 4915112345678 --text Hello --watch`,
    environment,
  );
  await watching.line(/QUEUED/);

  const code = await watching.stop("SIGINT");

  assert.equal(code, 130);
  assert.equal(await isPostgresRunning(), false);
  const told = await watching.line(/^Accepted as/);
  assert.match(told, /^Accepted as [0-9a-f-]{36}\.$/);
});

test("a stop signal during the start of the service ends it and its database", async () => {
  await using starting = startPosthorn(["start"], environment);
  await eventually("PostgreSQL is started", isPostgresRunning);

  assert.equal(await starting.stop(), 0);
  assert.equal(await isPostgresRunning(), false);
});

test("an address that cannot be listened on is reported with its setting", async () => {
  const port = await freePort();
  for (const [given, told] of [
    [{ METRICS_LISTEN: "nosuch.invalid:1" }, /^Cannot listen on nosuch.*Set METRICS_LISTEN/],
    [{ METRICS_LISTEN: `127.0.0.1:${port}`, PORT: `${port}`, HOST: "0.0.0.0" }, /METRICS_LISTEN/],
  ] as const) {
    const { code, stderr } = await runPosthorn(["start"], {
      environment: { ...environment, ...given },
    });
    assert.equal(code, 1);
    assert.match(stderr, told);
  }
});

test("a data folder that is a file is called that, by a command as by the service", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");

  for (const command of [["account", "list"], ["start"]]) {
    const { code, stderr } = await runPosthorn(command, {
      environment: { ...environment, DATA_DIR: file },
    });
    assert.deepEqual(
      [code, stderr],
      [1, `The data folder ${file} cannot be made: ${file} is not a folder. Set DATA_DIR.\n`],
    );
  }
});

test("a password that is not the embedded database's is named with its file, and a new one made once that is gone", async () => {
  const file = join(environment["DATA_DIR"] ?? "", "postgresql.password");
  await writeFile(file, "of-another-installation\n");
  for (const command of [["account", "list"], ["start"]]) {
    const { code, stderr } = await runPosthorn(command, { environment });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^The password in .*postgresql\.password is not .*\. Restore it, or delete/,
    );
  }

  await rm(file);
  const { data } = await json<{ data: { name: string }[] }>`account list`;

  assert.partialDeepStrictEqual(data, [{ name: "Acme" }]);
  assert.equal(await isPostgresRunning(), false);
});

test("listen without a service says that none is running", async () => {
  const { code, stderr } = await runPosthorn(words`listen --account ${accountId}`, { environment });

  assert.equal(code, 1);
  assert.match(stderr, /^No service is running, .* npm start$/m);
});

test("a service started while a command uses the data folder waits for the command to end", async () => {
  await using watching = startPosthorn(
    words`send --account ${accountId} --to 4915112345678 --text Hello --watch`,
    environment,
  );
  await watching.line(/End this with Ctrl\+C, then start one/);
  await using service = startPosthorn(["start"], { ...environment, LOG_LEVEL: "info" });
  await service.line(/a command uses the data folder/);

  await watching.stop("SIGINT");

  await service.line(/is running/);
});

test("listen continues once the service is restarted", async () => {
  await using first = await startService();
  await using listening = startPosthorn(words`listen --account ${accountId}`, environment);
  await listening.line(/^Listening/);

  await first.stop();
  await listening.line(/^The database is away; waiting for it\.$/);
  await using _second = await startService();
  const sent = await send("4915112345678");
  const { messageId } = JSON.parse(sent.stdout) as { messageId: string };

  await listening.line(new RegExp(`"message.delivered","messageId":"${messageId}"`));
  assert.equal(await listening.stop("SIGINT"), 0);
});

test("beside a service, messages are watched and carriers come and go without a restart", async (t) => {
  await using service = await startService();
  await using smsc = startPosthorn(
    words`smsc --port 0 --system-id posthorn --password rehearse`,
    {},
  );
  const { port } = JSON.parse(await smsc.line(/^\{/)) as { port: number };

  await t.test(
    "a message is shown to its end, and the exit code says whether it arrived",
    async () => {
      const { code, stdout, stderr } = await send("4915112340001");
      const failed = await send("4915112340002");
      const delivered = await send("4915112345678");

      assert.deepEqual([code, failed.code, delivered.code], [1, 1, 0]);
      assert.partialDeepStrictEqual(JSON.parse(failed.stdout), { status: "FAILED" });
      assert.partialDeepStrictEqual(JSON.parse(stdout), { status: "UNDELIVERED", credits: 1 });
      assert.match(stderr, /segment 1 to simulator: accepted/);
    },
  );

  await t.test("an added carrier is up, tested, routed to and removed", async () => {
    const { args, input } = carrierToAdd(port, "rehearse");
    const run = (given: readonly string[]) =>
      callPosthorn(given, { environment, input, clock: patientClock });
    const added = await posthornJson<{ state: string }>(args, { run });
    const tested = await beside`carrier test acme`;
    await beside`route set 49 acme`;
    const sent = await send("4915112345678");
    const removed = await beside`carrier remove acme`;
    const routes = await beside`route list`;

    assert.partialDeepStrictEqual(added, { name: "acme", state: "up" });
    assert.partialDeepStrictEqual(tested, { name: "acme", state: "up" });
    assert.partialDeepStrictEqual(JSON.parse(sent.stdout), { status: "DELIVERED" });
    assert.match(sent.stderr, /segment 1 to acme: accepted/);
    assert.partialDeepStrictEqual(removed, { name: "acme", state: "removed" });
    assert.deepEqual(routes, { data: [{ prefix: "", carriers: ["simulator"] }] });
  });

  await t.test(
    "a carrier that refuses the bind is down; adding, listing and testing it say why",
    async () => {
      const { args, input } = carrierToAdd(port, "wrong");
      const added = await callPosthorn(args, { environment, input, clock: patientClock });
      const { data } = await beside<{ data: { name: string; problems: string[] }[] }>`carrier list`;
      const tested = await callPosthorn(words`carrier test acme`, { environment });

      assert.partialDeepStrictEqual(JSON.parse(added.stdout), { state: "down" });
      assert.match(added.stderr, /^It is down: the carrier refused the bind: \w+.*\.$/m);
      const problems = data.find(({ name }) => name === "acme")?.problems.join("; ") ?? "";
      assert.match(problems, /^the carrier refused the bind: /);
      assert.equal(tested.code, 1);
      assert.match(tested.stdout, /"state":"down","message":"No bind to /);
      await beside`carrier remove acme`;
    },
  );

  await t.test("listen shows and forwards the exact octets of every event, signed", async () => {
    await using receiver = await startReceiver();
    const { signingSecret } = await beside<{ signingSecret: string }>`
      account secret show --account ${accountId}`;
    await using listening = startPosthorn(
      words`listen --account ${accountId} --forward-to ${receiver.url}`,
      environment,
    );
    await listening.line(/^Listening to the events of Acme/);

    await send("4915112345678");
    const line = JSON.parse(await listening.line(/"message.delivered"/)) as ListenLine;

    assert.deepEqual(Object.keys(line), LISTEN_FIELDS);
    assert.partialDeepStrictEqual(line, { status: "DELIVERED", forwarded: { httpStatus: 200 } });
    const signature = createHmac("sha256", signingSecret).update(line.body).digest("hex");
    const arrived = receiver.received.find(({ body }) => body.toString() === line.body);
    assert.equal(arrived?.headers["x-sms-signature"], signature);
    assert.equal(arrived?.headers["x-sms-event"], "message.delivered");
    assert.equal(await listening.stop("SIGINT"), 0);
  });

  await t.test(
    "an ended webhook is listed by its state and replayed with the same id",
    async () => {
      await using receiver = await startReceiver(() => 410);
      await callPosthorn(
        words`send --account ${accountId} --to 4915112340004 --text Hello --callback-url ${receiver.url}`,
        { environment },
      );
      await receiver.arrived(1);
      const gone = await listedAs("gone");

      const replayed = await beside`webhook replay ${gone.deliveryId}`;
      await receiver.arrived(2);
      const exhausted = await beside`webhook replay --account ${accountId} --exhausted --since 1h`;
      const unknown = await callPosthorn(words`webhook replay ${accountId}`, { environment });
      const others = await callPosthorn(
        words`webhook replay ${gone.deliveryId} --account ${gone.deliveryId}`,
        { environment },
      );

      assert.partialDeepStrictEqual(gone, {
        event: "message.sent",
        url: receiver.url,
        attempts: 1,
      });
      assert.deepEqual([replayed, exhausted], [{ replayed: 1 }, { replayed: 0 }]);
      assert.deepEqual(
        receiver.received.map(({ headers }) => headers["webhook-id"]),
        [gone.deliveryId, gone.deliveryId],
      );
      for (const { stderr } of [unknown, others]) assert.match(stderr, /^There is no delivery /);
    },
  );

  await t.test("the books agree, and nothing is left undone", async () => {
    const { violations } = await beside<{ violations: unknown[] }>`audit --drained`;

    assert.deepEqual(violations, []);
  });

  assert.equal(await service.stop(), 0);
  assert.equal(await smsc.stop(), 0);
  assert.equal(await isPostgresRunning(), false);
});

async function startService(): Promise<RunningPosthorn> {
  await using starting = new AsyncDisposableStack();
  const service = starting.use(startPosthorn(["start"], environment));
  await service.line(/is running/);
  starting.move();
  return service;
}

/** On a busy machine, a carrier's state may come later than a command would wait. */
const patientClock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() / 20 };

const LISTEN_FIELDS = ["event", "messageId", "status", "body", "headers", "forwarded"];
type ListenLine = { body: string; headers: Record<string, string> };
type Listed = { deliveryId: string };

/** The answer to a POST is recorded shortly after it was given. */
async function listedAs(state: string): Promise<Listed> {
  return eventually(`a delivery is ${state}`, async () => {
    const { data } = await beside<{ data: Listed[] }>`
      webhook list --account ${accountId} --state ${state}`;
    return data[0] ?? false;
  });
}

function send(recipient: string) {
  return callPosthorn(
    words`send --account ${accountId} --to ${recipient} --text Hello --watch --timeout 120s`,
    { environment },
  );
}

function carrierToAdd(port: number, password: string) {
  const args = words`carrier add acme --smpp ${`127.0.0.1:${port}`} --system-id posthorn --password-stdin --window 20`;
  return { args, input: `${password}\n` };
}

/** Judged by PostgreSQL's pid file, which it removes when it ends. */
async function isPostgresRunning(): Promise<boolean> {
  const file = join(environment["DATA_DIR"] ?? "", "postgresql", "postmaster.pid");
  return readFile(file, "utf8").then(
    () => true,
    () => false,
  );
}
