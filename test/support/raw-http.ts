import { connect } from "node:net";
import { once } from "node:events";
import type { AnyAnswer } from "./answers.ts";

/**
 * Writes bytes to a server unchanged and reads one answer; undefined if the server closed without
 * one. A chunk is written once the one before has left; `isWhole` then half-closes. A client that
 * `readsLast` starts to read only after everything was written.
 */
export async function rawRequest(
  port: number,
  chunks: Iterable<string | Buffer>,
  { isWhole = false, readsLast = false }: { isWhole?: boolean; readsLast?: boolean } = {},
): Promise<AnyAnswer | undefined> {
  const socket = connect(port, "127.0.0.1");
  const received: Buffer[] = [];
  // A server that has finished its answer may reset what still arrives.
  socket.on("error", () => {});
  const answered = new Promise<AnyAnswer | undefined>((resolve) => {
    if (readsLast) socket.pause();
    socket.on("data", (chunk: Buffer) => {
      received.push(chunk);
      const answer = readAnswer(Buffer.concat(received));
      if (answer) resolve(answer);
    });
    socket.on("close", () => resolve(undefined));
  });
  await once(socket, "connect");
  for (const chunk of chunks) {
    if (!socket.writable) break;
    await new Promise<void>((resolve) => socket.write(chunk, () => resolve()));
  }
  if (isWhole) socket.end();
  socket.resume();
  const answer = await answered;
  socket.destroy();
  return answer;
}

/** The last complete answer with a length, ignoring "100 Continue". */
function readAnswer(octets: Buffer): AnyAnswer | undefined {
  const text = octets.toString("latin1").replace(/^HTTP\/1\.1 100[^]*?\r\n\r\n/, "");
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  const [status = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = line.split(": ");
      return [name.toLowerCase(), value.join(": ")] as const;
    }),
  );
  const length = Number(headers["content-length"] ?? Number.NaN);
  if (rest.length === 0 || !(body.length >= length)) return undefined;
  return {
    statusCode: Number(status.split(" ")[1]),
    headers,
    body: Buffer.from(body.slice(0, length), "latin1").toString("utf8"),
  };
}
