import assert from "node:assert/strict";
import { test } from "node:test";
import { callPosthorn, startPosthorn, words } from "../support/cli.ts";
import { ask, type NpmPdu, npmSmpp } from "../support/npm-smpp.ts";

/**
 * Binds to the command line's SMSC, submits once, and returns what came. Disconnects while the SMSC
 * is being stopped.
 */
async function submitOnce(options: readonly string[], awaited: number): Promise<NpmPdu[]> {
  await using smsc = startPosthorn(["smsc", "--port", "0", ...options], {});
  const { port } = JSON.parse(await smsc.line(/^\{/)) as { port: number };
  const session = npmSmpp.connect({ host: "127.0.0.1", port });
  const came: NpmPdu[] = [];
  const { promise: allCame, resolve } = Promise.withResolvers<void>();
  const note = (pdu: NpmPdu) => {
    came.push(pdu);
    if (came.length === awaited) resolve();
  };
  session.on("deliver_sm", (pdu) => {
    note(pdu);
    session.send(pdu.response());
  });

  await ask((run) => session.bind_transceiver({ system_id: "user", password: "secret" }, run));
  const fields = { destination_addr: "4915112345678", registered_delivery: 1 };
  session.submit_sm({ ...fields, short_message: "Hello" }, note);
  await allCame;
  session.destroy();
  return came;
}

test("the rehearsal SMSC refuses as told by its options", async () => {
  for (const [answer, command, status] of [
    ["throttle", "submit_sm_resp", 0x58],
    ["nack", "generic_nack", 0x03],
  ] as const) {
    const [pdu] = await submitOnce(["--answer", answer], 1);

    assert.deepEqual([pdu?.command, pdu?.command_status], [command, status]);
  }
});

test("the rehearsal SMSC sends receipts before its answer, contradicting, and with ids in another format", async () => {
  const options = words`--receipts before --receipt-states DELIVRD,UNDELIV --hex-ids`;

  const [first, second, answer] = await submitOnce(options, 3);

  assert.equal(answer?.command, "submit_sm_resp");
  const decimal = BigInt(`0x${answer.message_id}`).toString().padStart(20, "0");
  const said = [first, second].map((pdu) => pdu?.short_message.message ?? "");
  assert.ok(said.every((text) => text.startsWith(`id:${decimal} `)));
  assert.deepEqual(
    said.map((text) => /stat:(\w+)/.exec(text)?.[1]),
    ["DELIVRD", "UNDELIV"],
  );
});

test("the rehearsal SMSC on a taken port says so, and how to choose another", async () => {
  await using smsc = startPosthorn(words`smsc --port 0`, {});
  const { port } = JSON.parse(await smsc.line(/^\{/)) as { port: number };

  const { code, stderr } = await callPosthorn(words`smsc --port ${port}`);

  assert.equal(code, 1);
  assert.equal(
    stderr.trim(),
    `Port ${port} on 127.0.0.1 is taken. Stop what uses it, or choose another with --port.`,
  );
});

test("the rehearsal SMSC ends if stopped while it starts", async () => {
  const stopping = new AbortController();
  const stopSignal = () => {
    queueMicrotask(() => stopping.abort());
    return stopping.signal;
  };

  const { code } = await callPosthorn(words`smsc --port 0`, { stopSignal });

  assert.equal(code, 0);
});
