import { useState } from "react";
import { forget, keep, listKept, readKept } from "./storage.ts";

const PREFIX = "posthorn-draft:";

/**
 * What a person has typed and not yet sent, kept for this tab, so that a session that ends or a reload
 * does not lose it; where nothing can be kept it lives as long as the page. Never used for anything secret.
 */
export function useDraft<Value extends object>(
  name: string,
  initial: Value,
): [Value, (value: Value) => void, () => void] {
  const [value, setValue] = useState<Value>(() => ({ ...initial, ...read(name) }));
  return [
    value,
    (next) => {
      setValue(next);
      keep("sessionStorage", PREFIX + name, JSON.stringify(next));
    },
    () => {
      setValue(initial);
      forget("sessionStorage", PREFIX + name);
    },
  ];
}

function read(name: string): object {
  try {
    const kept: unknown = JSON.parse(readKept("sessionStorage", PREFIX + name) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

export function clearDrafts(): void {
  const drafts = listKept("sessionStorage").filter((name) => name.startsWith(PREFIX));
  for (const name of drafts) forget("sessionStorage", name);
}
