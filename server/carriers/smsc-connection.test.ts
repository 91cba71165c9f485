import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { Connection } from "./smsc-connection.ts";

test("an SMSC that has stopped reading begins again when told, not when its answers have left", () => {
  const socket = new Socket();
  const ignored = () => {};
  const connection = new Connection(1, socket, {
    onBind: ignored,
    onSubmit: ignored,
    onResponse: ignored,
    onPdu: ignored,
    onClose: ignored,
  });
  connection.pauseReading();

  socket.emit("drain");
  const isPaused = socket.isPaused();
  connection.resumeReading();

  assert.deepEqual([isPaused, socket.isPaused()], [true, false]);
});
