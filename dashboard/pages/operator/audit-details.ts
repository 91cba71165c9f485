/** An action such as `key.created` as a person would say it. */
export function actionInWords(action: string): string {
  const words = action.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Before and after side by side, anything else by its name; one line each. */
export function detailsInWords(details: Record<string, unknown>): string[] {
  const { before, after, ...others } = details;
  const named = Object.entries(others).map(([name, value]) => `${name}: ${inWords(value)}`);
  if (before === undefined && after === undefined) return named;
  if (isRecord(before) && isRecord(after)) return [...changesOf(before, after), ...named];
  return [fromTo(before, after), ...named];
}

function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => inWords(before[name]) !== inWords(after[name]))
    .map((name) => `${name}: ${fromTo(before[name], after[name])}`);
}

/** In words, since an arrow is not in the font. */
function fromTo(before: unknown, after: unknown): string {
  return `from ${inWords(before)} to ${inWords(after)}`;
}

function inWords(value: unknown): string {
  if (value === undefined || value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
