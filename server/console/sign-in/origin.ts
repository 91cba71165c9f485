import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a write comes from our own pages. Browsers say so in `Sec-Fetch-Site`, which no page can
 * set; where it is missing, as on plain http, `Origin` must be the address we are reached at. The
 * Host header decides nothing: a stranger's page can choose it.
 */
export function isOwnOrigin(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return headers.origin !== undefined && headers.origin === new URL(publicUrl).origin;
}
