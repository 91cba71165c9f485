import { passwordFault, passwordWarnings, readSmppSettings } from "#carriers";
import { listRoutes } from "#messages";
import { type Queryable, quoted } from "#platform";
import {
  addCarrier,
  addSimulator,
  type CarrierRow,
  changeCarrier,
  changedSettings,
  listCarriers,
  livingSenders,
  onlyReceives,
  readCarrierStates,
  type SeenCarrier,
  shownSettings,
  testCarrier,
} from "#sending";
import {
  carrierOptions,
  changedOptions,
  givenSettings,
  nameArgument,
  settingWithDefault,
  smscAddress,
} from "./carrier-options.ts";
import { ACTOR, command, CommandFailure, type Context, WrongCall } from "./command.ts";
import { flag, optional, optionName, required, several, unless } from "./input.ts";
import { pauseCommands } from "./pause-commands.ts";
import { removeCarrierCommand } from "./remove-carrier-command.ts";
import { requireCarrier } from "./route-commands.ts";
import { facts, table } from "./table.ts";

const smppOption = required(
  "HOST:PORT",
  smscAddress,
  "Where its SMSC listens; the default port is 2775.",
);
const passwordOption = { ...flag("Read the password from standard input."), isRequired: true };

const add = command({
  name: "carrier add",
  summary:
    "Adds an SMPP carrier or a simulator, without a restart. The password is read from standard input.",
  arguments: { name: nameArgument },
  options: {
    smpp: unless("simulator", smppOption),
    passwordStdin: unless("simulator", passwordOption),
    simulator: flag(
      "Add a simulator, like the one every installation starts with; takes no other option.",
    ),
    ...carrierOptions,
  },
  prints: '{"carrierId","name","state"}',
  examples: [
    "carrier add acme --smpp smsc.example.com:2775 --system-id posthorn --password-stdin < password.txt",
    "carrier add acme --smpp smsc.example.com:3550 --tls --system-id posthorn --password-stdin --window 20 --rate 100 --in-doubt fail < password.txt",
    "carrier add simulator --simulator",
  ],
  async run({ name, simulator, smpp, ...given }, context) {
    const smppSettings = simulator ? undefined : await readSmpp({ ...smpp, ...given }, context);
    const change = { name, actor: ACTOR, now: context.clock.now() };
    const { db } = await context.installation();
    const added = smppSettings
      ? await addCarrier(db, { ...change, ...smppSettings })
      : await addSimulator(db, change);
    if (added.outcome === "name_taken") {
      const taken = (await listCarriers(db)).find((carrier) => carrier.name === name);
      const hint = `, or change that one: npx posthorn carrier set ${quoted(name)} …`;
      throw new CommandFailure(
        `There is already a carrier ${name}. Choose another name${taken?.kind === "smpp" ? hint : "."}`,
      );
    }
    const { state, problems } = await firstState(context, added.carrierId);
    const json = { carrierId: added.carrierId, name, state };
    if (state !== "up")
      for (const problem of problems) context.terminal.say(`It is ${state}: ${problem}.`);
    const route = [...(await carriersOfEveryNumber(db)), name].map(quoted).join(" ");
    context.terminal.say(
      smppSettings && onlyReceives(smppSettings)
        ? "It only receives: no messages are sent through it."
        : `Messages go through it once a route names it: npx posthorn route set "" ${route}`,
    );
    return { json, text: facts(json) };
  },
});

const set = command({
  name: "carrier set",
  summary:
    "Changes settings of an SMPP carrier, without a restart. Options left out stay as they are.",
  arguments: { name: nameArgument },
  options: {
    smpp: optional("HOST:PORT", smscAddress, "Where its SMSC listens."),
    passwordStdin: flag("Read a new password from standard input."),
    reset: {
      ...several("OPTION", settingWithDefault, "An option to reset to its default, such as tls."),
      isRequired: false,
    },
    ...changedOptions,
  },
  prints: '{"carrierId","name","settings"}',
  examples: [
    "carrier set acme --window 20 --rate 100",
    "carrier set acme --reset tls --reset rate",
  ],
  async run({ name, smpp, passwordStdin, reset, ...given }, context) {
    const { db, secrets: openBox } = await context.installation();
    const carrier = requireCarrier(await listCarriers(db), name);
    if (carrier.kind === "simulator") throw new CommandFailure("The simulator has no settings.");
    const wishes = givenSettings(given);
    const both = reset.find((setting) => setting in wishes);
    if (both !== undefined) {
      const option = optionName(both);
      throw new WrongCall(`--${option} cannot be combined with --reset ${option}.`);
    }
    const defaults = Object.fromEntries(reset.map((setting) => [setting, null]));
    const changes = { ...smpp, ...wishes, ...defaults };
    if (Object.keys(changes).length === 0 && !passwordStdin)
      throw new WrongCall("Say what to change; npx posthorn carrier set --help lists the options.");
    const password = passwordStdin ? await readPassword(context) : undefined;
    const secrets = await openBox();
    const settings = changedSettings(carrier, changes, secrets);
    const { warnings } = requireSettings(settings);
    const ofPassword = password === undefined ? [] : passwordWarnings(password);
    for (const warning of [...warnings, ...ofPassword]) context.terminal.say(warning);
    const isChanged = await changeCarrier(db, {
      carrierId: carrier.carrier_id,
      version: carrier.version,
      settings,
      ...(password === undefined ? {} : { password }),
      secrets,
      actor: ACTOR,
      now: context.clock.now(),
    });
    if (!isChanged)
      throw new CommandFailure(`Someone else has changed ${name} in the meantime. Try again.`);
    if (receiptRule(settings) !== receiptRule(carrier.settings))
      context.terminal.say(
        "The rule for receipts applies to messages submitted from now on; for those already SENT, the ids stay as read under the old rule.",
      );
    const json = { carrierId: carrier.carrier_id, name, settings: shownSettings(settings) };
    return { json, text: facts({ ...json, settings: JSON.stringify(json.settings) }) };
  },
});

function receiptRule({ receipt_id: rule }: Record<string, unknown>): string {
  return JSON.stringify(rule ?? "exact");
}

/** Real carriers already on the default route; the hint keeps them, as it replaces the route. */
async function carriersOfEveryNumber(db: Queryable): Promise<string[]> {
  const { carrierIds = [] } = (await listRoutes(db)).find(({ prefix }) => prefix === "") ?? {};
  const carriers = await listCarriers(db);
  return carrierIds.flatMap((carrierId) => {
    const found = carriers.find(({ carrier_id }) => carrier_id === carrierId);
    return found?.kind === "smpp" ? [found.name] : [];
  });
}

/** The settings and password of an SMPP carrier, checked; unusual values only give a warning. */
async function readSmpp(given: Record<string, unknown>, context: Context) {
  const password = await readPassword(context);
  const { host, port } = given;
  const settings = { host, port, ...givenSettings(given) };
  const { warnings } = requireSettings(settings);
  for (const warning of [...warnings, ...passwordWarnings(password)]) context.terminal.say(warning);
  const { secrets } = await context.installation();
  return { settings, password, secrets: await secrets() };
}

async function readPassword({ terminal }: Context): Promise<string> {
  const password = await terminal.readSecret();
  const fault = passwordFault(password);
  if (fault !== undefined) throw new CommandFailure(`The ${fault}.`);
  return password;
}

function requireSettings(given: Record<string, unknown>): { warnings: string[] } {
  const read = readSmppSettings(given);
  if (read.outcome === "read") return read;
  const faults = read.faults.map(
    ({ setting, message }) => `--${setting.replaceAll("_", "-")} ${message}.`,
  );
  throw new CommandFailure(faults.join("\n"));
}

/** Nodes pick up a new carrier within a second and report its state soon after. */
const FIRST_STATE_MS = 5_000;

/** The carrier's state on the running nodes; `unknown` if none is running. */
async function firstState(
  context: Context,
  carrierId: string,
): Promise<Pick<SeenCarrier, "state" | "problems">> {
  const { db } = await context.installation();
  const { clock, signal } = context;
  const until = clock.monotonicMs() + FIRST_STATE_MS;
  const unknown = { state: "unknown" as const, problems: [] };
  if ((await livingSenders(db)).length === 0) return unknown;
  for (;;) {
    const carrier = { carrier_id: carrierId, paused: false };
    const seen = (await readCarrierStates(db, [carrier])).get(carrierId);
    const isSettled = seen !== undefined && (seen.state === "up" || seen.problems.length > 0);
    if (isSettled || clock.monotonicMs() > until || signal.aborted) return seen ?? unknown;
    await clock.sleep(100, signal);
  }
}

const list = command({
  name: "carrier list",
  summary: "Lists the carriers with their state on the running nodes.",
  prints:
    '{"data":[{"carrierId","name","state","kind","problems","lastHour":{"since","refusals","lateReceipts"},"settings"}]}',
  examples: ["carrier list"],
  async run(_given, context) {
    const { db } = await context.installation();
    const carriers = await listCarriers(db);
    const states = await readCarrierStates(db, carriers);
    const data = carriers.map((carrier) => presentCarrier(carrier, states.get(carrier.carrier_id)));
    const lines = data.map(({ carrierId, name, kind, state, problems }) => [
      carrierId,
      name,
      kind,
      state,
      problems.join("; "),
    ]);
    return { json: { data }, text: table(["CARRIER", "NAME", "KIND", "STATE", "PROBLEM"], lines) };
  },
});

function presentCarrier(
  { carrier_id, name, kind, settings }: CarrierRow,
  seen: SeenCarrier | undefined,
) {
  const { state = "unknown", problems = [], lastHour = null } = seen ?? {};
  const known = { carrierId: carrier_id, name, state, kind, problems, lastHour };
  return { ...known, settings: shownSettings(settings) };
}

const test = command({
  name: "carrier test",
  summary: "Binds to a carrier once, checks that it answers, and unbinds; no message is sent.",
  arguments: { name: nameArgument },
  prints: '{"carrierId","name","state","message"}',
  examples: ["carrier test acme"],
  async run({ name }, context) {
    const { db, secrets } = await context.installation();
    const carrier = requireCarrier(await listCarriers(db), name);
    const deps = { db, clock: context.clock, secrets: await secrets() };
    const { isBound, sentence } = await testCarrier(carrier, deps);
    const state = isBound ? "up" : "down";
    if (!isBound && context.terminal.isJson) context.terminal.say(sentence);
    const json = { carrierId: carrier.carrier_id, name, state, message: sentence };
    return { json, text: sentence, isFault: !isBound };
  },
});

export const carrierCommands = [add, set, list, test, ...pauseCommands, removeCarrierCommand];
