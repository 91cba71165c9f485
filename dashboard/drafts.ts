import { forget, keep, listKept, readKept } from "./storage.ts";

const PREFIX = "posthorn-draft:";

type Values = Record<string, unknown>;

export type Draft = {
  /** The kept fields of a form whose fields begin like these. */
  read: <Form extends Values>(initial: Form) => Partial<Form>;
  keep: (value: object) => void;
  forget: () => void;
};

/** What a person has typed and not sent yet. */
export function draftOf(userId: string, name: string): Draft {
  const key = `${prefixOf(userId)}${name}`;
  return {
    read: (initial) => fitting(read(key), initial),
    keep: (value) => keep("sessionStorage", key, JSON.stringify(value)),
    forget: () => forget("sessionStorage", key),
  };
}

function prefixOf(userId: string): string {
  return `${PREFIX}${userId} `;
}

function read(key: string): unknown {
  try {
    return JSON.parse(readKept("sessionStorage", key) ?? "{}");
  } catch {
    return undefined;
  }
}

/** Anybody can write to storage, so only fields of the form are taken, each of the kind it has there. */
function fitting<Form extends Values>(kept: unknown, initial: Form): Partial<Form> {
  if (!isRecord(kept)) return {};
  const fields = Object.entries(initial).map(([name, usual]) => [name, fit(kept[name], usual)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Partial<Form>;
}

/** Where a field is empty at first, it may become an object of texts. Numbers are typed as text. */
function fit(kept: unknown, usual: unknown): unknown {
  if (Array.isArray(usual)) return Array.isArray(kept) && kept.every(isText) ? kept : undefined;
  if (usual === null) return isRecord(kept) && Object.values(kept).every(isText) ? kept : undefined;
  if (typeof kept === "number") return typeof usual === "number" ? kept : String(kept);
  return isText(kept) ? kept : undefined;
}

function isRecord(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function clearDrafts(): void {
  for (const key of listDrafts()) forget("sessionStorage", key);
}

/** An earlier user who did not sign out must leave nothing to this one. */
export function clearDraftsOfOthers(userId: string): void {
  const own = prefixOf(userId);
  for (const key of listDrafts()) if (!key.startsWith(own)) forget("sessionStorage", key);
}

function listDrafts(): string[] {
  return listKept("sessionStorage").filter((key) => key.startsWith(PREFIX));
}
