import assert from "node:assert/strict";
import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "#platform";
import { openServerLog } from "./server-log.ts";
import { launchServer } from "./server.ts";

/** Reports ready through a file that cannot be read to its end until this process is gone. */
const DIES_WHEN_READY = `#!/bin/sh
mkfifo postmaster.pid
exec 3> postmaster.pid
(printf '%s\\n\\n\\n5432\\n\\n\\n\\nready\\n' $$ >&3; while kill -0 $$; do :; done) 2> /dev/null &
`;

test("a PostgreSQL that ends while it is found ready counts as not started", async (t) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "posthorn-server-"));
  const cluster = folder.path;
  const postgres = join(cluster, "postgres");
  await writeFile(postgres, DIES_WHEN_READY);
  await chmod(postgres, 0o755);
  const serverLog = await openServerLog(join(cluster, "log"), systemClock);
  t.after(() => serverLog.close());
  const binaries = { postgres } as Parameters<typeof launchServer>[0]["binaries"];
  const around = { account: undefined, settings: {}, clock: systemClock, log: silentLog };
  const deps = { cluster, clusterName: "none", binaries, serverLog, ...around };

  const launched = launchServer(deps, 5432);

  await assert.rejects(launched, /PostgreSQL did not start/);
});

test("a log that cannot be opened is named", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "posthorn-server-"));

  await assert.rejects(
    openServerLog(folder.path, systemClock),
    /^Unfit: .* cannot be opened \(EISDIR\)\.$/,
  );
});
