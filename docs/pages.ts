import { apiErrors, deliveryErrors, detailCodes } from "#contract";
import { type AnyCommand, describeInput, loadCommands, usage } from "../server/cli/index.ts";
import { invariants } from "../server/cli/audit/audit.ts";
import { describeSettings } from "../server/settings.ts";

const MADE = "<!-- Made by docs/generate.ts; a change here is lost. -->";

export function configurationPage(): string {
  const rows = describeSettings().map(({ name, fallback, meaning }) => [
    `\`${name}\``,
    fallback === "none" ? "none" : `\`${fallback}\``,
    meaning,
  ]);
  return page("Settings", [
    "Settings come from the environment, or from `posthorn.toml` in the folder in which Posthorn is started, where names are in lower case (`port = 8080`). The environment wins. If any setting is wrong, Posthorn does not start, and names all that are wrong.",
    table(["setting", "default", "meaning"], rows),
  ]);
}

export function errorsPage(): string {
  const codes = Object.entries(apiErrors).map(
    ([code, { status, message, meaning, fix }]) =>
      `### ${code}\n\nHTTP ${status}. ${message}\n\n${meaning}\n\n**What to do:** ${fix}`,
  );
  const details = Object.entries(detailCodes).map(([code, meaning]) => [`\`${code}\``, meaning]);
  const delivery = Object.entries(deliveryErrors).map(([code, { message, fix }]) => [
    `\`${code}\``,
    message,
    fix,
  ]);
  return page("Errors", [
    "Every error of the API has the same shape: `error.code` from the first list, and `error.details` with a code from the second for each wrong field. A running service explains each at `/docs/errors/CODE`.",
    "## Answers",
    ...codes,
    "## Codes in `details`",
    table(["code", "meaning"], details),
    "## Delivery errors",
    "Why a message ended UNDELIVERED or FAILED: `error.code` of the message, with the carrier's own code beside it.",
    table(["code", "meaning", "what to do"], delivery),
  ]);
}

export async function cliPage(): Promise<string> {
  const commands = await loadCommands();
  return page("Command line", [
    "Run `npx posthorn COMMAND` in the project folder, with or without a running service. Every command takes `--json` (one JSON object on standard output; the default if that is not a terminal) and `--help`. Messages and progress go to standard error. On failure, the exit code is not zero, and a sentence says what to do.",
    ...commands.map(commandSection),
  ]);
}

function commandSection(command: AnyCommand): string {
  const { name, summary, prints, arguments: places, options, examples } = command;
  const inputs = [
    ...Object.entries(places).map(([key, input]) => describeInput(key, input, "argument")),
    ...Object.entries(options).map(([key, input]) => describeInput(key, input, "option")),
  ];
  const rows = inputs.map(({ label, meaning, need }) => [`\`${label}\``, need, meaning]);
  return [
    `## ${name}`,
    summary,
    `\`\`\`\n${usage(command)}\n\`\`\``,
    ...(rows.length > 0 ? [table(["", "required", "meaning"], rows)] : []),
    ...(prints === null ? [] : [`With \`--json\`: \`${prints}\``]),
    `\`\`\`sh\n${examples.map((example) => `npx posthorn ${example}`).join("\n")}\n\`\`\``,
  ].join("\n\n");
}

export function auditPage(): string {
  const number = (name: string) => Number(name.slice(1));
  const rows = invariants
    .toSorted((one, other) => number(one.name) - number(other.name))
    .map(({ name, rule }) => [name, rule]);
  return page("Invariants", [
    "What `npx posthorn audit` proves from the tables, in one snapshot, even under load. I17 holds only once load has stopped and everything due is done; `--drained` checks it too.",
    table(["", "rule"], rows),
  ]);
}

function page(title: string, sections: string[]): string {
  return `${[MADE, `# ${title}`, ...sections].join("\n\n")}\n`;
}

function table(columns: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n");
}
