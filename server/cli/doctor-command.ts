import { hasKeyProof } from "#accounts";
import { checkSurroundings, type Clock, messageOf, type SecretBox } from "#platform";
import { listNodes } from "#sending";
import { command, type Context, type Installation, type Settings } from "./command.ts";
import { attempt, type Check, fault, ok, warning } from "./doctor/check.ts";
import { checkClock, checkDatabase, checkStandbys, judgeMigrations } from "./doctor/database.ts";
import { checkExposure } from "./doctor/exposure.ts";
import {
  checkDisk,
  checkPermissions,
  hasCluster,
  hasKeyFile,
  holdsAnotherKey,
} from "./doctor/folder.ts";
import { checkCarriers, checkRoutes, checkSenders } from "./doctor/sending.ts";
import { checkService } from "./doctor/readiness.ts";
import { checkServerSettings } from "./doctor/server-settings.ts";
import { checkCollector, checkPartitions, checkRetention, checkWebhooks } from "./doctor/upkeep.ts";

const doctor = command({
  name: "doctor",
  summary: "Checks settings, database, clock, carriers and disk, and says what to fix.",
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
    ...checkExposure(settings),
    checkRetention(settings),
    ...(await attempt("traces", () => checkCollector(settings))),
    ...(await attempt("file permissions", () =>
      checkPermissions({ ...settings, secretsFile: context.program.fileWithSecrets() }),
    )),
    ...(await attempt("free disk", () => checkDisk(settings))),
    ...(await attempt("database", () => examineDatabase(context, settings))),
    ...(await attempt("service", () => checkService(settings))),
  ];
}

function readSettings({ program }: Context): Settings | Check {
  try {
    return program.readSettings();
  } catch (error) {
    const fix = "Correct them in the environment or in posthorn.toml.";
    return fault("settings", messageOf(error), fix);
  }
}

/** Examining must change nothing: if there is no database yet, do not create one. */
async function examineDatabase(context: Context, settings: Settings): Promise<Check[]> {
  if (!settings.databaseUrl && !(await hasCluster(settings))) {
    await checkSurroundings(settings.dataDir);
    return [ok("database", `None yet: the first start makes it in ${settings.dataDir}.`)];
  }
  const installation = await context.installation("unchecked");
  const { db } = installation;
  const migrations = await installation.compareMigrations();
  const found = [
    ...(await attempt("database", () => checkDatabase(db))),
    ...(await attempt("standby", () => checkStandbys(db))),
    ...(await attempt("clock", () => checkClock(db, context.clock))),
    judgeMigrations(migrations),
  ];
  if (migrations.missing.length > 0) return found;
  return [...found, ...(await examineContents(installation, context.clock))];
}

async function examineContents(installation: Installation, clock: Clock): Promise<Check[]> {
  const { db, isEmbedded } = installation;
  const secrets = await openSecrets(installation);
  return [
    secrets.check,
    ...(isEmbedded
      ? []
      : await attempt("database settings", async () =>
          checkServerSettings(db, {
            nodes: (await listNodes(db)).filter(({ is_gone }) => !is_gone).length,
          }),
        )),
    ...(await attempt("partitions", () => checkPartitions(db, clock))),
    ...(await attempt("senders", () => checkSenders(db))),
    ...(await attempt("carriers", () => checkCarriers(db, secrets.box))),
    ...(await attempt("routes", () => checkRoutes(db))),
    ...(await attempt("webhooks", () => checkWebhooks(db, clock))),
  ];
}

/** If no key was ever made, there is nothing to compare, and none is made here. */
async function openSecrets({
  db,
  settings,
  secrets,
}: Installation): Promise<{ check: Check; box?: SecretBox }> {
  const name = "secret key";
  const isGiven = settings.secretKey !== undefined || (await hasKeyFile(settings));
  if (!isGiven && (await hasKeyProof(db))) {
    const message = `There is no SECRET_KEY and no secret.key in ${settings.dataDir}, but the database has been used with one.`;
    const fix = "Restore the key that it was used with; all nodes share one.";
    return { check: fault(name, message, fix) };
  }
  if (!isGiven) return { check: ok(name, "None yet: the first start creates it.") };
  try {
    const box = await secrets();
    if (settings.databaseUrl && !settings.secretKey) {
      const message = `It is known only to this node, in ${settings.dataDir}; others cannot open what it seals.`;
      const fix = "Set SECRET_KEY to the content of secret.key, on every node.";
      return { check: warning(name, message, fix), box };
    }
    if (await holdsAnotherKey(settings, settings.secretKey)) {
      const message = `SECRET_KEY is right, but secret.key in ${settings.dataDir} has another: without SECRET_KEY, the next start is refused.`;
      const fix = "Write SECRET_KEY into that file, or delete the file and back up SECRET_KEY.";
      return { check: warning(name, message, fix), box };
    }
    return { check: ok(name, "It opens what is sealed in the database."), box };
  } catch (error) {
    const fix = "Restore the key that the secrets were sealed with.";
    return { check: fault(name, messageOf(error), fix) };
  }
}

const MARKS = { ok: "✔", warning: "!", fault: "✖" } as const;

function lineOf({ name, state, message, fix }: Check): string {
  return `${MARKS[state]} ${name}: ${message}${fix === null ? "" : `\n    ${fix}`}`;
}

export const doctorCommands = [doctor];
