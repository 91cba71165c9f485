import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "#platform";
import { clearLeftovers } from "./leftovers.ts";
import { findPostmasterFile, postmasterFileIn } from "./postmaster-file.ts";

test("a PostgreSQL that gets the pid of a killed one does not pass for ready before it is", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "posthorn-leftovers-"));
  const cluster = folder.path;
  const dead = spawn(process.execPath, ["--version"]);
  await once(dead, "exit");
  const left = [dead.pid, cluster, 1, 5432, "", "127.0.0.1", "", "ready"].join("\n");
  await writeFile(postmasterFileIn(cluster), left);
  assert.ok((await findPostmasterFile(cluster))?.isReady);

  await clearLeftovers({
    cluster,
    clusterName: "posthorn-0-0",
    clock: systemClock,
    log: silentLog,
  });

  assert.equal(await findPostmasterFile(cluster), undefined);
});
