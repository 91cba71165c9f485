/**
 * A trivial receiver of webhooks in a process of its own: answers each request with 200 in one write.
 * A full HTTP server would be the slower side of what is measured. Tells its port; counts on request.
 */
import { createServer } from "node:net";

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
let count = 0;

const server = createServer((socket) => {
  let left = 0;
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    left = left === 0 ? missingOctets(chunk) : left - chunk.length;
    if (left > 0) return;
    left = 0;
    count += 1;
    socket.write(ANSWER);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.(address.port);
});
process.on("message", () => process.send?.(count));
process.on("disconnect", () => process.exit());

/** Of the request whose head this chunk begins with. */
function missingOctets(head: Buffer): number {
  const text = head.toString("latin1");
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.indexOf("\r\n\r\n") + 4 + length - head.length;
}
