import type { IncomingHttpHeaders } from "node:http";

/** An address as some proxies write it: in brackets, or with a port. */
const WRITTEN = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * Leaves only the addresses in X-Forwarded-For. With its port a proxy would not be known as one we
 * trust, and a client would have another address for every connection.
 */
export function dropForwardedPorts(headers: IncomingHttpHeaders): void {
  const forwarded = headers["x-forwarded-for"];
  if (typeof forwarded !== "string") return;
  const addresses = forwarded.split(",").map((each) => {
    const [, bracketed, plain] = WRITTEN.exec(each.trim()) ?? [];
    return bracketed ?? plain ?? each;
  });
  headers["x-forwarded-for"] = addresses.join(",");
}
