import { listRoutes } from "#messages";
import { type Queryable, quoted, type SecretBox } from "#platform";
import {
  type CarrierRow,
  listCarriers,
  livingSenders,
  onlyReceives,
  openCarrier,
  readCarrierStates,
  type SeenCarrier,
} from "#sending";
import { type Check, fault, ok, warning } from "./check.ts";

export async function checkSenders(db: Queryable): Promise<Check> {
  const nodes = await livingSenders(db);
  const names = nodes.map(({ host, pid, version }) => `${host} (pid ${pid}, ${version})`);
  return nodes.length > 0
    ? ok("senders", `Messages are sent by ${names.join(", ")}.`)
    : warning(
        "senders",
        "No node is sending: messages wait in the queue.",
        "Start one, unless they must wait: npm start",
      );
}

/** One finding per carrier: its settings, its password, and its state on the running nodes. */
export async function checkCarriers(
  db: Queryable,
  secrets: SecretBox | undefined,
): Promise<Check[]> {
  const carriers = await listCarriers(db);
  const states = await readCarrierStates(db, carriers);
  return carriers.map((carrier) => {
    const name = `carrier ${carrier.name}`;
    const wrong = whatIsWrong(carrier, secrets);
    if (wrong !== undefined) return fault(name, wrong, `Correct that: ${change(carrier)}`);
    return judgeState(name, carrier, states.get(carrier.carrier_id));
  });
}

/** Without the secret key nothing can be checked; the key is a finding of its own. */
function whatIsWrong(carrier: CarrierRow, secrets: SecretBox | undefined): string | undefined {
  if (carrier.kind === "simulator" || !secrets) return undefined;
  const opened = openCarrier(carrier, secrets);
  return opened.outcome === "wrong" ? opened.sentence : undefined;
}

function change({ name }: CarrierRow): string {
  return `npx posthorn carrier set ${quoted(name)} … (npx posthorn carrier set --help lists the options)`;
}

function judgeState(name: string, carrier: CarrierRow, seen: SeenCarrier | undefined): Check {
  const own = carrier.name;
  const { state = "unknown", problems = [] } = seen ?? {};
  const why = problems.length > 0 ? `: ${problems.join("; ")}` : "";
  const test =
    problems.length > 0
      ? `Fix that, or correct the carrier: ${change(carrier)}`
      : `See what it answers: npx posthorn carrier test ${quoted(own)}`;
  switch (state) {
    case "up":
      return ok(name, "It is up.");
    case "unknown":
      return ok(name, "Its settings are right; no node reports its state.");
    case "pausing":
    case "paused":
      return warning(
        name,
        "It is paused: its messages wait.",
        `Resume it: npx posthorn carrier resume ${quoted(own)}`,
      );
    case "degraded":
      return warning(name, `Some of its binds are down${why}.`, test);
    case "down":
      return fault(name, `It is down${why}.`, test);
  }
}

export async function checkRoutes(db: Queryable): Promise<Check> {
  const routes = await listRoutes(db);
  const carriers = (await listCarriers(db)).filter((carrier) => !onlyReceives(carrier));
  const takers = new Set(carriers.map(({ carrier_id }) => carrier_id));
  const dead = routes.filter(({ carrierIds }) => !carrierIds.some((each) => takers.has(each)));
  if (routes.length === 0)
    return warning(
      "routes",
      "No number is served: there is no route.",
      'Set one: npx posthorn route set "" CARRIER',
    );
  if (dead.length > 0) {
    const prefixes = dead.map(({ prefix }) => JSON.stringify(prefix)).join(", ");
    const message = `The routes for ${prefixes} name no carrier that can send messages.`;
    return fault("routes", message, "Set them again: npx posthorn route set PREFIX CARRIER");
  }
  return ok(
    "routes",
    `${routes.length} ${routes.length === 1 ? "route leads" : "routes lead"} to carriers.`,
  );
}
