import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { useIsAnother } from "./use-is-another.ts";

const TYPING_MS = 400;

type Options = {
  /** As the address has it. */
  value: string | undefined;
  /** What the address will have of what is typed. */
  read: (typed: string) => string | undefined;
  onTyped: (typed: string) => void;
};

const shown = new Set<() => void>();

/** Empties every field that filters, also of what the address does not have yet. */
export function emptyTyped(): void {
  for (const empty of shown) empty();
}

/**
 * What stands in a field that filters: applied a moment after the last key, and following the address,
 * but not where that only has what was typed here, without a space at the end or not at all.
 */
export function useTyped({
  value,
  read,
  onTyped,
}: Options): [typed: string, type: (typed: string) => void] {
  const [typed, setTyped] = useState(value ?? "");
  const [applied, setApplied] = useState(value);
  if (useIsAnother(value) && value !== applied) {
    setTyped(value ?? "");
    setApplied(value);
  }
  useEffect(() => {
    const empty = () => setTyped("");
    shown.add(empty);
    return () => void shown.delete(empty);
  }, []);
  const apply = useDebouncedCallback((text: string) => {
    // Taken back within that moment.
    if (text !== typed) return;
    setApplied(read(text));
    onTyped(text);
  }, TYPING_MS);
  return [
    typed,
    (text) => {
      setTyped(text);
      apply(text);
    },
  ];
}
