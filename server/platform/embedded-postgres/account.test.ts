import assert from "node:assert/strict";
import { test } from "node:test";
import { accountIn } from "./account.ts";

const LINES = {
  root: "root:x:0:0:root:/root:/bin/bash",
  postgres: "postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash",
  nobody: "nobody:x:65533:65532:nobody:/nonexistent:/usr/sbin/nologin",
};

test("root runs PostgreSQL as the user postgres, else as nobody, and never as itself", () => {
  const { root, postgres, nobody } = LINES;
  assert.deepEqual(accountIn([root, nobody, postgres].join("\n")), { uid: 101, gid: 104 });
  assert.deepEqual(accountIn([root, nobody].join("\n")), { uid: 65_533, gid: 65_532 });
  assert.deepEqual(accountIn("postgres:x:0:0::/:\n"), { uid: 65_534, gid: 65_534 });
  assert.deepEqual(accountIn(""), { uid: 65_534, gid: 65_534 });
});
