import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { test } from "node:test";
import { quiet, until } from "../../../test/support/until.ts";
import { PduSocket } from "./pdu-socket.ts";

const MIB = 1_048_576;
/** More than the kernel keeps for a peer that does not read. */
const FLOOD_OCTETS = 64 * MIB;

test("a peer that floods us slowly and never reads has about a megabyte of answers waiting, and gets all of them once it reads", async () => {
  const pdu = Buffer.alloc(16 * 1024);
  pdu.writeUInt32BE(pdu.length);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const peer = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [ours] = (await once(server, "connection")) as [Socket];
  let most = 0;
  const pdus = new PduSocket(ours, {
    maxPdu: pdu.length,
    onPdu(asked) {
      pdus.outbox.put(Buffer.from(asked));
      most = Math.max(most, ours.writableLength);
    },
    onUnreadable: () => assert.fail("every PDU is whole"),
  });

  for (let sent = 0; sent < FLOOD_OCTETS; sent += pdu.length) {
    peer.write(pdu);
    await nextTurn();
  }
  await until("we read no more", () => pdus.outbox.isStuck);
  await quiet();
  const unread = most;
  let answered = 0;
  peer.on("data", ({ length }: Buffer) => (answered += length));
  await until("all are answered", () => answered === FLOOD_OCTETS);

  assert.ok(unread < 1.25 * MIB, `${unread} octets waited`);
  assert.ok(most < 1.25 * MIB, `${most} octets waited`);
  peer.destroy();
  server.close();
});
