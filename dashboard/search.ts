/**
 * The query string as data. Pages read theirs with the small functions below: an unknown or wrong
 * value reads as undefined, and so disappears from the address.
 */
export type RawSearch = Record<string, unknown>;

/**
 * `?status=SENT&status=FAILED` is a list, all else is text; nothing is guessed to be a number. Empty
 * values are left out, as in writing: the router removes only what is written otherwise.
 */
export function parseSearch(query: string): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === "") continue;
    const before = found[name];
    found[name] = before === undefined ? value : [before, value].flat();
  }
  return found;
}

export function stringifySearch(search: RawSearch): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const each of [value].flat()) {
      if (each !== undefined && each !== null && each !== "") parameters.append(name, String(each));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** Omits undefined values, so that they disappear from the address. */
export function present<T extends object>(search: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

export function readText(value: unknown, maxLength = 128): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" || text.length > maxLength || text.includes("\0") ? undefined : text;
}

export function readChoice<const Choice extends string>(
  value: unknown,
  choices: readonly Choice[],
): Choice | undefined {
  return choices.find((choice) => choice === value);
}

/** The chosen values in the order of `choices`; undefined if there are none. */
export function readChoices<const Choice extends string>(
  value: unknown,
  choices: readonly Choice[],
): Choice[] | undefined {
  const given = new Set([value].flat());
  const chosen = choices.filter((choice) => given.has(choice));
  return chosen.length === 0 ? undefined : chosen;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function readId(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim().toLowerCase() : "";
  return UUID.test(text) ? text : undefined;
}

export function readTime(value: unknown): string | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/.test(value)) {
    return undefined;
  }
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** Only our own paths: a link that leads elsewhere after sign-in would be an attack. */
export function readNext(value: unknown): string | undefined {
  if (typeof value !== "string" || !value.startsWith("/") || value.length > 2_000) return undefined;
  const base = "http://own.invalid";
  const url = URL.parse(value, base);
  // Its path may start with `//` only after dots are resolved, and would then name another host.
  const isOwn = url !== null && url.origin === base && !url.pathname.startsWith("//");
  return isOwn && !value.includes("\\") ? `${url.pathname}${url.search}` : undefined;
}

export const LIMITS = ["25", "50", "100"] as const;
export type Limit = (typeof LIMITS)[number];

export type PageSearch = { cursor?: string; limit?: Limit };

/** 25 rows are the default, so they are not in the address. */
export function readPage(raw: RawSearch): PageSearch {
  const limit = readChoice(raw["limit"], LIMITS);
  return present({
    cursor: readText(raw["cursor"], 1_000),
    limit: limit === "25" ? undefined : limit,
  });
}
