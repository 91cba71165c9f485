import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a write comes from our own pages. Browsers say so in `Sec-Fetch-Site`, which no page can
 * set. If it is missing, as on plain http, `Origin` must be our public address. The Host header
 * decides nothing, because a stranger's page can choose it.
 */
export function isOwnOrigin(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return headers.origin !== undefined && headers.origin === new URL(publicUrl).origin;
}
