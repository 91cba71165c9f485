import { useState } from "react";
import { useAccount, useMe } from "./session.ts";
import { forget, keep, listKept, readKept } from "./storage.ts";

const PREFIX = "posthorn-draft:";

/**
 * What a person has typed and not yet sent, kept for this tab, so that a session that ends or a reload
 * does not lose it; where nothing can be kept it lives as long as the page. It is of this person in this
 * account and stands in no other form. Never used for anything secret.
 */
export function useDraft<Value extends object>(
  name: string,
  initial: Value,
): [Value, (value: Value) => void, () => void] {
  const key = `${prefixOf(useMe().userId)}${useAccount().accountId} ${name}`;
  const [value, setValue] = useState<Value>(() => ({ ...initial, ...read(key) }));
  return [
    value,
    (next) => {
      setValue(next);
      keep("sessionStorage", key, JSON.stringify(next));
    },
    () => {
      setValue(initial);
      forget("sessionStorage", key);
    },
  ];
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

/** Whoever was here before and did not sign out leaves nothing to this person. */
export function clearDraftsOfOthers(userId: string): void {
  const own = prefixOf(userId);
  for (const key of listDrafts()) if (!key.startsWith(own)) forget("sessionStorage", key);
}

function listDrafts(): string[] {
  return listKept("sessionStorage").filter((key) => key.startsWith(PREFIX));
}
