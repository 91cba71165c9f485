/**
 * The other end of bench/smpp.ts, in its own process: answers binds, submits, enquire_links and
 * unbinds by their headers alone, so that only the client is measured.
 */
import { createServer } from "node:net";

import { framer } from "../server/carriers/smpp/codec/frame.ts";
import {
  command,
  readCommandId,
  readSequence,
  writeHeader,
} from "../server/carriers/smpp/codec/header.ts";

const ID = Buffer.from("0123456789abcdef\0");
const RESPONSE_OCTETS = 16 + ID.length;

const server = createServer({ noDelay: true }, (socket) => {
  let answers = Buffer.allocUnsafe(1024 * 1024);
  let end = 0;
  const push = framer(72 * 1024, (frame) => {
    const commandId = readCommandId(frame);
    const hasId = commandId !== command.enquireLink && commandId !== command.unbind;
    const next = end + (hasId ? RESPONSE_OCTETS : 16);
    ID.copy(answers, end + 16);
    writeHeader(answers, end, next, {
      commandId: commandId + command.genericNack,
      status: 0,
      sequence: readSequence(frame),
    });
    end = next;
  });
  socket.on("data", (chunk: Buffer) => {
    push(chunk);
    socket.write(answers.subarray(0, end));
    // The socket may still hold these bytes.
    answers = answers.subarray(end);
    if (answers.length < 512 * 1024) answers = Buffer.allocUnsafe(1024 * 1024);
    end = 0;
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" ? address?.port : null);
});
// Ends with the benchmark.
process.on("disconnect", () => process.exit(0));
