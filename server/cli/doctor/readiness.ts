import { type Check, ok, warning } from "./check.ts";

const LIMIT_MS = 3_000;

/** Asks the service whether it is ready, as a load balancer would. */
export async function checkService({ host, port }: { host: string; port: number }): Promise<Check> {
  const name = "service";
  const url = `http://${addressOf(host)}:${port}/readyz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
    await answer.body?.cancel();
    if (answer.ok) return ok(name, `It is ready at ${url}.`);
    return warning(name, `${url} answers ${answer.status}.`, "Look at the service's log.");
  } catch {
    return warning(name, `Nothing answers at ${url}.`, "Start the service: npm start");
  }
}

function addressOf(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
