import { forget, keep, listKept, readKept } from "./storage.ts";

const PREFIX = "posthorn-draft:";

export type Draft = { read: () => object; keep: (value: object) => void; forget: () => void };

/** What a person has typed and not sent yet. */
export function draftOf(userId: string, name: string): Draft {
  const key = `${prefixOf(userId)}${name}`;
  return {
    read: () => read(key),
    keep: (value) => keep("sessionStorage", key, JSON.stringify(value)),
    forget: () => forget("sessionStorage", key),
  };
}

function prefixOf(userId: string): string {
  return `${PREFIX}${userId} `;
}

function read(key: string): object {
  try {
    const kept: unknown = JSON.parse(readKept("sessionStorage", key) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    return {};
  }
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
