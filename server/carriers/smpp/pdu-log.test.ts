import assert from "node:assert/strict";
import { test } from "node:test";

import type { Log } from "#platform";

import { boundWorld } from "../../../test/support/smpp.ts";

function recording(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (fields: object, sentence: string) => {
    lines.push(JSON.stringify({ ...fields, sentence }));
  };
  return { lines, log: { debug: write, info: write, warn: write, error: write } };
}

async function logOf(level: string): Promise<string[]> {
  const { log, lines } = recording();
  await using world = await boundWorld({
    log,
    password: "hunter2hunter2",
    settings: { pdu_log: level },
  });
  await world.submit("4915112345678", { text: "Your code is 482913" });
  await world.receiptArrived();
  await world.carrier.stop();
  return lines;
}

test("the full log shows every PDU, but no password, text or whole number", async () => {
  const lines = await logOf("full");
  const all = lines.join("\n");

  for (const name of [
    "bind_transceiver",
    "submit_sm",
    "submit_sm_resp",
    "deliver_sm",
    "deliver_sm_resp",
    "unbind",
  ]) {
    assert.ok(
      lines.some((line) => line.includes(`"command":"${name}"`)),
      name,
    );
  }
  assert.ok(all.includes('"address":"•••••••••••78"'), "a number is told by its last two digits");
  for (const secret of ["hunter2", "482913", "4915112345678"]) {
    assert.ok(!all.includes(secret), secret);
    assert.ok(!all.includes(Buffer.from(secret).toString("hex")), `${secret} in hex`);
  }
});

test("the log of headers has no bodies, and without the setting no PDU is logged", async () => {
  const headers = await logOf("headers");
  const off = await logOf("off");

  assert.ok(headers.some((line) => line.includes("submit_sm_resp")));
  assert.ok(!headers.some((line) => line.includes("dataCoding")));
  assert.ok(!off.some((line) => line.includes("submit_sm")));
});
