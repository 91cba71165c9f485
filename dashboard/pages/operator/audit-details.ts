/** Before and after side by side, anything else by its name; one line each. */
export function detailsInWords(details: Record<string, unknown>): string[] {
  const { before, after, ...others } = details;
  const changes = isRecord(before) && isRecord(after) ? changesOf(before, after) : [];
  const rest = { ...others, ...(changes.length > 0 ? {} : given({ before, after })) };
  return [...changes, ...Object.entries(rest).map(([name, value]) => `${name}: ${inWords(value)}`)];
}

function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => inWords(before[name]) !== inWords(after[name]))
    .map((name) => `${name}: ${inWords(before[name])} → ${inWords(after[name])}`);
}

function given(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function inWords(value: unknown): string {
  if (value === undefined || value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
