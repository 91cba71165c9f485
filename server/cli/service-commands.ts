import { command } from "./command.ts";
import { section } from "./help.ts";

const start = command({
  name: "start",
  summary: "Runs the service until it is stopped.",
  prints: null,
  examples: ["start"],
  details: ({ settings }) =>
    section(
      "Settings, from the environment or, in lower case, from posthorn.toml",
      settings.map(({ name, fallback, meaning }) => [name, `${meaning} Default: ${fallback}.`]),
    ),
  isService: true,
  async run(_given, { program }) {
    await program.start();
    return undefined;
  },
});

const migrate = command({
  name: "migrate",
  summary: "Migrates the database to this version; start does this too.",
  prints: '{"applied":[…]}',
  examples: ["migrate"],
  async run(_given, context) {
    const { applied } = await context.installation("apply");
    const text =
      applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
    return { json: { applied }, text };
  },
});

export const startCommands = [start];
export const migrateCommands = [migrate];
