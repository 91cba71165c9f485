import assert from "node:assert/strict";
import { test } from "node:test";
import { settingArguments } from "./settings.ts";

test("no override weakens durability or opens the network", () => {
  const overrides = {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    listen_addresses: "*",
    shared_buffers: "16MB",
  };

  const given = settingArguments({ port: 5432, clusterName: "posthorn-1-2", overrides });

  for (const expected of [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "listen_addresses=127.0.0.1",
    "shared_buffers=16MB",
  ]) {
    assert.ok(given.includes(expected), expected);
  }
  assert.equal(given.length, 2 * new Set(given.filter((it) => it !== "-c")).size);
});
