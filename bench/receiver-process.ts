/**
 * A trivial webhook receiver in its own process: answers each request, with or without a body, with
 * 200 in one write. A full HTTP server would be slower than what is being measured. Reports its
 * port, and the count when asked.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { RECEIVER_HOSTS } from "./receiver-hosts.ts";

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
const HEAD_END = "\r\n\r\n";
let count = 0;

function answerAll(socket: Socket): void {
  let held = "";
  let left = 0;
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    if (left === 0) {
      held += chunk.toString("latin1");
      // A head split over chunks is rare; wait for its end.
      if (!held.includes(HEAD_END)) return;
      left = missingOctets(held);
      held = "";
    } else left -= chunk.length;
    if (left > 0) return;
    left = 0;
    count += 1;
    socket.write(ANSWER);
  });
}

let port = 0;
for (const host of RECEIVER_HOSTS) {
  const server = createServer(answerAll).listen(port, host);
  await once(server, "listening");
  ({ port } = server.address() as { port: number });
}
process.send?.(port);
process.on("message", () => process.send?.(count));
process.on("disconnect", () => process.exit());

/** The rest of the request that begins here. */
function missingOctets(text: string): number {
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.indexOf(HEAD_END) + HEAD_END.length + length - text.length;
}
