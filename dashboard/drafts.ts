import { useState } from "react";

const PREFIX = "posthorn-draft:";

/**
 * What a person has typed and not yet sent, kept for this tab, so that a session that ends or a reload
 * does not lose it. Never used for anything secret.
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
      write(name, next);
    },
    () => {
      setValue(initial);
      remove(name);
    },
  ];
}

function read(name: string): object {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

/** Storage may be switched off or full: then a draft lives as long as the page. */
function write(name: string, value: object): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Nothing else can be done.
  }
}

function remove(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // There was nothing to keep.
  }
}

export function clearDrafts(): void {
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
    }
  } catch {
    // There was nothing to keep.
  }
}
