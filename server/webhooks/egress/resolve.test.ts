import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { orHostsFile } from "./hosts-file.ts";
import { systemResolve } from "./resolve.ts";

/** A resolver whose every lookup waits until the test answers it. */
function slowSystem() {
  const asked = new Map<string, PromiseWithResolvers<string[]>>();
  return {
    asked,
    ask: (name: string): Promise<string[]> => {
      const answer = Promise.withResolvers<string[]>();
      asked.set(name, answer);
      return answer.promise;
    },
  };
}

const LATER = 1_000_000;

test("at most 16 lookups run at once, 12 of them for names that never resolved before", async () => {
  const system = slowSystem();
  const resolve = systemResolve({ clock: manualClock(), ask: system.ask });
  const known = ["known1.", "known2.", "known3.", "known4.", "known5."];
  resolve.recall(["known1", "known2", "known3", "known4", "known5"]);

  for (let n = 0; n < 40; n += 1) resolve(`stranger${n}.`, LATER, BigInt(n)).catch(() => {});
  assert.equal(system.asked.size, 12);
  for (const [n, name] of known.entries()) resolve(name, LATER, BigInt(n)).catch(() => {});

  assert.deepEqual([...system.asked.keys()].slice(12), known.slice(0, 4));
});

test("an account's names that hang, known or not, leave room for those of another account", () => {
  const system = slowSystem();
  const resolve = systemResolve({ clock: manualClock(), ask: system.ask });
  const hanging = Array.from({ length: 40 }, (_, n) => `known${n}`);
  resolve.recall([...hanging, "other-known"]);
  for (let n = 0; n < 40; n += 1) resolve(`stranger${n}.`, LATER, 1n).catch(() => {});
  for (const name of hanging) resolve(`${name}.`, LATER, 1n).catch(() => {});
  system.asked.clear();

  for (const name of ["other-stranger.", "other-known.", "stranger39."])
    resolve(name, LATER, 2n).catch(() => {});

  // The last one also waits for the first account.
  assert.deepEqual([...system.asked.keys()], ["other-stranger.", "other-known.", "stranger39."]);
});

test("a name that hung counts as a stranger again; one that was known before the start does not", async () => {
  const clock = manualClock();
  const system = slowSystem();
  const bounds = { maxAtOnce: 3, maxStrangersAtOnce: 1 };
  const resolve = systemResolve({ clock, ask: system.ask, ...bounds });
  resolve.recall(["fails", "hangs", "known"]);
  const failed = resolve("fails.", LATER);
  system.asked.get("fails.")?.reject(new Error("gone"));
  await assert.rejects(failed, /gone/);
  const hung = resolve("hangs.", LATER);
  clock.advance(2_001);
  system.asked.get("hangs.")?.resolve(["8.8.8.8"]);
  await hung;
  system.asked.clear();

  for (const [n, name] of ["stranger.", "hangs.", "fails.", "known."].entries())
    resolve(name, LATER, BigInt(n)).catch(() => {});

  assert.deepEqual([...system.asked.keys()], ["stranger.", "fails.", "known."]);
});

test("a name that hangs does not keep a known name waiting; once a lookup ends the next one runs", async () => {
  const system = slowSystem();
  const resolve = systemResolve({ clock: manualClock(), ask: system.ask, maxAtOnce: 1 });
  const first = resolve("a.", LATER);
  const second = resolve("b.", LATER);
  assert.deepEqual([...system.asked.keys()], ["a."]);

  system.asked.get("a.")?.reject(new Error("gone"));
  await assert.rejects(first, /gone/);
  system.asked.get("b.")?.resolve(["8.8.4.4"]);

  assert.deepEqual(await second, ["8.8.4.4"]);
});

test("equal names share one lookup", async () => {
  const system = slowSystem();
  const resolve = systemResolve({ clock: manualClock(), ask: system.ask });

  const both = Promise.all([resolve("a.", LATER), resolve("a.", LATER)]);
  system.asked.get("a.")?.resolve(["8.8.8.8"]);

  assert.deepEqual(await both, [["8.8.8.8"], ["8.8.8.8"]]);
  assert.equal(system.asked.size, 1);
});

test("a lookup that nobody waits for any more is never begun, one that somebody waits for is", async () => {
  const clock = manualClock();
  const system = slowSystem();
  const resolve = systemResolve({ clock, ask: system.ask, maxAtOnce: 1 });
  const first = resolve("a.", LATER);
  const late = resolve("late.", 2_000);
  const joined = [2_000, LATER, 1_000].map((deadlineMs) => resolve("joined.", deadlineMs));

  clock.advance(2_001);
  system.asked.get("a.")?.resolve(["8.8.8.8"]);
  await first;

  await assert.rejects(late, /DNS_BUSY/);
  assert.deepEqual([...system.asked.keys()], ["a.", "joined."]);
  system.asked.get("joined.")?.resolve(["8.8.4.4"]);
  await Promise.all(joined);
});

test("the system's resolver is asked for all addresses of a name", async () => {
  const resolve = systemResolve({ clock: manualClock() });

  const addresses = await resolve("localhost", LATER);

  assert.ok(addresses.includes("127.0.0.1") || addresses.includes("::1"), String(addresses));
});

test("a name unknown to the resolver is looked up in the hosts file, exactly as it stands there", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "posthorn-hosts-"));
  const path = join(folder.path, "hosts");
  writeFileSync(
    path,
    "# 10.0.0.9 myhook\n127.0.0.1 localhost\n10.0.0.7\tother MyHook # ours\r\nfd12::7 myhook\nnone myhook\n",
  );
  const unknown = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  const ask = (name: string) =>
    name === "known." ? Promise.resolve(["8.8.8.8"]) : Promise.reject(unknown);
  const resolve = systemResolve({ clock: manualClock(), ask: orHostsFile(ask, path) });

  assert.deepEqual(await resolve("myhook.", LATER), ["10.0.0.7", "fd12::7"]);
  assert.deepEqual(await resolve("known.", LATER), ["8.8.8.8"]);
  await assert.rejects(resolve("hook.", LATER), unknown);
  await assert.rejects(orHostsFile(ask, join(folder.path, "none"))("myhook."), unknown);
});
