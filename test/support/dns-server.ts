import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4, isIPv6 } from "node:net";

/** Addresses, or `CNAME other.name`. A function is called for each query. */
export type Records = string[] | (() => string[]);

export type DnsServer = AsyncDisposable & {
  /** The address for `Resolver.setServers`. */
  address: string;
  /** Every name that was queried, in order. */
  asked: string[];
};

const [A, CNAME, AAAA] = [1, 5, 28];
const NOT_FOUND = 3;

/** A name server on loopback that knows only `zone`. Names without records get no answer. */
export async function startDnsServer(zone: Record<string, Records>): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, peer) => {
    const { name, type, end } = readQuestion(query);
    asked.push(name);
    const records = zone[name];
    const values = typeof records === "function" ? records() : records;
    if (values?.length === 0) return;
    const answers = (values ?? []).filter((value) => fits(value, type)).map(record);
    const flags = values === undefined ? 0x8180 | NOT_FOUND : 0x8180;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(flags, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(
      Buffer.concat([header, query.subarray(12, end), ...answers]),
      peer.port,
      peer.address,
    );
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function fits(value: string, type: number): boolean {
  if (isIPv4(value)) return type === A;
  return isIPv6(value) ? type === AAAA : true;
}

/** One resource record for the queried name, with a TTL of zero. */
function record(value: string): Buffer {
  if (isIPv4(value)) return resource(A, Buffer.from(value.split(".").map(Number)));
  if (isIPv6(value)) return resource(AAAA, ipv6Octets(value));
  return resource(CNAME, nameOctets(value.replace("CNAME ", "")));
}

function resource(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function ipv6Octets(value: string): Buffer {
  const full = new URL(`http://[${value}]`).hostname.slice(1, -1);
  const [left = "", right] = full.split("::");
  const [front, back] = [left, right ?? ""].map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: 8 - (front?.length ?? 0) - (back?.length ?? 0) }, () => "0");
  const groups = [...(front ?? []), ...zeros, ...(back ?? [])];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function nameOctets(name: string): Buffer {
  const labels = name
    .split(".")
    .map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}
