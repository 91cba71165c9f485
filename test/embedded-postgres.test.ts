import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { findRunningPostgres, Unfit } from "#platform";
import { ask, type DataFolder, dataFolder } from "./support/data-folder.ts";

const IS_ROOT = process.geteuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A cluster for tests that leave it unchanged; the others copy it, which saves an initdb. */
let made: DataFolder;
/** The files that its first start created in it. */
let names: string[];

before(async () => {
  made = await dataFolder();
  // The remains of a start that was interrupted while creating the cluster.
  await mkdir(join(made.path, "postgresql.new", "base"), { recursive: true });
  await using first = await made.start();
  assert.equal(first.isNew, true);
  names = await readdir(made.path);
  await ask(first.url, "create table kept as select 42 as value");
});
after(() => made[Symbol.asyncDispose]());

describe("started again", () => {
  let postgres: Awaited<ReturnType<DataFolder["start"]>>;
  before(async () => (postgres = await made.start()));
  after(() => postgres[Symbol.asyncDispose]());

  test("committed data is there after a stop and a start", async () => {
    assert.equal(postgres.isNew, false);
    assert.deepEqual(await ask(postgres.url, "select value from kept"), [{ value: 42 }]);
  });

  test("commits are durable, pages have checksums, and it listens only on loopback", async () => {
    const settings = await ask<{ name: string; setting: string }>(
      postgres.url,
      `select name, setting from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums',
                       'listen_addresses', 'unix_socket_directories', 'server_encoding')
        order by name`,
    );

    assert.deepEqual(
      settings.map(({ name, setting }) => `${name}=${setting}`),
      [
        "data_checksums=on",
        "fsync=on",
        "full_page_writes=on",
        "listen_addresses=127.0.0.1",
        "server_encoding=UTF8",
        "synchronous_commit=on",
        "unix_socket_directories=",
      ],
    );
  });

  test("connecting requires the password, which only the service's user can read", async () => {
    const wrong = new URL(postgres.url);
    wrong.password = "guessed";

    await assert.rejects(ask(wrong.href, "select 1"), /password authentication failed/);
    const { mode } = await stat(join(made.path, "postgresql.password"));
    assert.equal(mode & 0o777, 0o600);
  });

  test("other processes on the folder find the running database", async () => {
    const { url, port, pid } = postgres;
    assert.deepEqual(await findRunningPostgres(made.path), { url, port, pid });
  });

  test("a copied folder is not mistaken for the running original", async () => {
    await using copy = await dataFolder({ copyOf: made.path });

    assert.equal(await findRunningPostgres(copy.path), undefined);
    await using second = await copy.start();

    assert.deepEqual(await ask(postgres.url, "select 1 as one"), [{ one: 1 }]);
    assert.notEqual(second.pid, postgres.pid);
  });
});

test("a stopped database is not found", async () => {
  assert.equal(await findRunningPostgres(made.path), undefined);
});

test("a start cut short while creating the cluster does not affect the next, and leaves nothing behind", () => {
  assert.deepEqual(
    names.filter((name) => /new/.test(name)),
    [],
  );
});

for (const [how, lose] of [
  ["a lost password", (path: string) => rm(path)],
  ["an emptied password", (path: string) => writeFile(path, "")],
] as const) {
  test(`${how} is replaced, and the data is still there`, async () => {
    await lose(join(made.path, "postgresql.password"));

    await using postgres = await made.start();

    assert.deepEqual(await ask(postgres.url, "select value from kept"), [{ value: 42 }]);
  });
}

test("a folder with spaces and a path of 400 letters works", async () => {
  const within = join("with a space", "l".repeat(180), "o".repeat(180));
  await using folder = await dataFolder({ copyOf: made.path, within });

  await using postgres = await folder.start();

  assert.deepEqual(await ask(postgres.url, "select value from kept"), [{ value: 42 }]);
});

test("a data folder of another major version is refused and left as it is", async () => {
  await using folder = await dataFolder();
  await mkdir(join(folder.path, "postgresql"));
  await writeFile(join(folder.path, "postgresql", "PG_VERSION"), "17\n");

  await assert.rejects(folder.start(), (error) => {
    assert.ok(error instanceof Unfit);
    assert.match(error.message, /made by PostgreSQL 17, .* brings PostgreSQL 18\. .*DATA_DIR/);
    return true;
  });
  assert.deepEqual(await readdir(join(folder.path, "postgresql")), ["PG_VERSION"]);
});

test(
  "root runs PostgreSQL as another user, even in a folder which that user cannot reach",
  { skip: !IS_ROOT && "not root" },
  async () => {
    await using folder = await dataFolder({ copyOf: made.path });
    assert.equal((await stat(join(folder.path, ".."))).mode & 0o777, 0o700);

    await using postgres = await folder.start();

    assert.notEqual((await stat(`/proc/${postgres.pid}`)).uid, 0);
  },
);

test(
  "root runs PostgreSQL as the owner of the data folder",
  { skip: !IS_ROOT && "not root" },
  async () => {
    const owner = { uid: 4321, gid: 4321 };
    await using folder = await dataFolder({ copyOf: made.path, owner });

    await using postgres = await folder.start();

    assert.equal((await stat(`/proc/${postgres.pid}`)).uid, owner.uid);
  },
);

test(
  "an ordinary user can start from an empty folder",
  { skip: !canBeNobody() && "cannot become nobody here" },
  async () => {
    await using folder = await dataFolder({ owner: NOBODY });

    await using holder = await folder.hold(NOBODY);

    assert.ok("url" in holder.answer);
    assert.deepEqual(await ask(holder.answer.url, "select 1 as one"), [{ one: 1 }]);
    assert.equal((await stat(`/proc/${holder.answer.pid}`)).uid, NOBODY.uid);
  },
);

test(
  "a folder that the user may not write to is refused in one sentence",
  { skip: !canBeNobody() && "cannot become nobody here" },
  async () => {
    await using folder = await dataFolder();
    await chmod(dirname(folder.path), 0o755);

    await using holder = await folder.hold(NOBODY);

    assert.deepEqual(holder.answer, {
      unfit: `The data folder ${folder.path} is not writable. Give this user the right to write to ${folder.path}, or set DATA_DIR to another folder.`,
    });
  },
);

/** Possible only for root, and if other users can read the checkout. */
function canBeNobody(): boolean {
  if (!IS_ROOT) return false;
  const { status } = spawnSync(process.execPath, ["--check", import.meta.filename], { ...NOBODY });
  return status === 0;
}
