import { type Check, ok, warning } from "./check.ts";

/** Asks the service whether it is ready, as a load balancer does. */
export async function checkService({ host, port }: { host: string; port: number }): Promise<Check> {
  const name = "service";
  const origin = `http://${addressOf(host)}:${port}`;
  const url = `${origin}/readyz`;
  const status = await statusOf(url);
  if (status === undefined)
    return warning(
      name,
      `Nothing answers at ${url}.`,
      "Start the service: npm start. If it runs with another HOST or PORT, give commands the same settings, best in posthorn.toml.",
    );
  if (status !== 200)
    return warning(name, `${url} answers ${status}.`, "Look at the service's log.");
  if ((await statusOf(`${origin}/`)) === 503)
    return warning(
      name,
      `It is ready at ${url}, but its dashboard is not built.`,
      "In Posthorn's folder, as a user who can write there: npm run build",
    );
  return ok(name, `It is ready at ${url}.`);
}

const LIMIT_MS = 3_000;

/** The status that it answers; undefined if nothing answers in time. */
export async function statusOf(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
    await answer.body?.cancel();
    return answer.status;
  } catch {
    return undefined;
  }
}

function addressOf(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
