import { listAccounts } from "#accounts";
import type { SecretBox } from "#platform";
import { command, type Context, type Installation, type Settings } from "./command.ts";
import { attempt, type Check, fault, ok } from "./doctor/check.ts";
import { checkClock, checkDatabase, checkStandbys, judgeMigrations } from "./doctor/database.ts";
import { checkDisk, checkPermissions, hasCluster, hasSecretKey } from "./doctor/folder.ts";
import { checkCarriers, checkRoutes, checkSenders } from "./doctor/sending.ts";
import { checkService } from "./doctor/readiness.ts";

const doctor = command({
  name: "doctor",
  summary: "Checks settings, database, clock, carriers and disk, and says what to mend.",
  arguments: {},
  options: {},
  prints: '{"data":[{"name","state","message","fix"}]}, state: ok, warning or fault',
  examples: ["doctor"],
  async run(_given, context) {
    const data = await examine(context);
    const text = data.map(lineOf).join("\n");
    return { json: { data }, text, isFault: data.some(({ state }) => state === "fault") };
  },
});

async function examine(context: Context): Promise<Check[]> {
  const settings = readSettings(context);
  if (!("host" in settings)) return [settings];
  return [
    ok("settings", "All are right."),
    ...(await attempt("file permissions", () => checkPermissions(settings))),
    ...(await attempt("free disk", () => checkDisk(settings))),
    ...(await attempt("database", () => examineDatabase(context, settings))),
    ...(await attempt("service", () => checkService(settings))),
  ];
}

function readSettings({ program }: Context): Settings | Check {
  try {
    return program.readSettings();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return fault("settings", message, "Correct them in the environment or in posthorn.toml.");
  }
}

/** Looking must change nothing: a database that was never made is not made here. */
async function examineDatabase(context: Context, settings: Settings): Promise<Check[]> {
  if (!settings.databaseUrl && !(await hasCluster(settings)))
    return [ok("database", `None yet: the first start makes it in ${settings.dataDir}.`)];
  const installation = await context.installation("unchecked");
  const { db } = installation;
  const missing = await installation.missingMigrations();
  const found = [
    ...(await attempt("database", () => checkDatabase(db))),
    ...(await attempt("standby", () => checkStandbys(db))),
    ...(await attempt("clock", () => checkClock(db, context.clock))),
    judgeMigrations(missing),
  ];
  return missing.length > 0 ? found : [...found, ...(await examineContents(installation))];
}

async function examineContents(installation: Installation): Promise<Check[]> {
  const { db } = installation;
  const secrets = await openSecrets(installation);
  return [
    secrets.check,
    ...(await attempt("senders", () => checkSenders(db))),
    ...(await attempt("carriers", () => checkCarriers(db, secrets.box))),
    ...(await attempt("routes", () => checkRoutes(db))),
  ];
}

/** Where no key was ever made there is nothing to compare, and none is made here. */
async function openSecrets({
  db,
  settings,
  secrets,
}: Installation): Promise<{ check: Check; box?: SecretBox }> {
  const name = "secret key";
  const isGiven = settings.secretKey !== undefined || (await hasSecretKey(settings));
  if (!isGiven && (await listAccounts(db)).length > 0) {
    const message = `There is no SECRET_KEY and no secret.key in ${settings.dataDir}, but the database holds sealed secrets.`;
    return { check: fault(name, message, "Bring back the key that they were sealed with.") };
  }
  if (!isGiven) return { check: ok(name, "None yet: the first start makes it.") };
  try {
    return { check: ok(name, "It opens what is sealed in the database."), box: await secrets() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { check: fault(name, message, "Bring back the key that the secrets were sealed with.") };
  }
}

const MARKS = { ok: "✔", warning: "!", fault: "✖" } as const;

function lineOf({ name, state, message, fix }: Check): string {
  return `${MARKS[state]} ${name}: ${message}${fix === null ? "" : `\n    ${fix}`}`;
}

export const doctorCommands = [doctor];
