import { openDatabase } from "#platform";
import { audit, type Violation } from "./audit/audit.ts";
import { command } from "./command.ts";
import { flag } from "./input.ts";
import { facts } from "./table.ts";
import { plainJson } from "./terminal.ts";

const auditCommand = command({
  name: "audit",
  summary: "Proves that ledger, balances, messages, refunds and events agree.",
  options: {
    drained: flag("Also check that nothing is left to do; for when load has stopped."),
  },
  prints: '{"checked":{…},"violations":[…]}',
  examples: ["audit"],
  async run({ drained }, context) {
    const { url, log } = await context.installation();
    context.terminal.say("Checking every rule in one snapshot; this may take a while.");
    const name = "posthorn audit";
    const db = openDatabase({
      url,
      log,
      maxConnections: 1,
      applicationName: name,
      statementTimeoutMs: 0,
    });
    try {
      const found = await audit(db, { isDrained: drained });
      const { checked, violations } = found;
      const verdict = violations.length === 0 ? "Everything agrees." : listed(violations);
      return {
        json: found,
        text: `${facts(checked)}\n\n${verdict}`,
        isFault: violations.length > 0,
      };
    } finally {
      await db.close();
    }
  },
});

function listed(violations: readonly Violation[]): string {
  const lines = violations.map(
    ({ invariant, rule, ...row }) => `${invariant}: ${rule}\n    ${plainJson(row)}`,
  );
  return `${lines.join("\n")}\n\n${violations.length} violations. Nothing was changed: keep a backup, then find the cause.`;
}

export const auditCommands = [auditCommand];
