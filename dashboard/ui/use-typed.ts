import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import { useIsAnother } from "./use-is-another.ts";

const TYPING_MS = 400;

type Options = {
  /** As the address has it. */
  value: string | undefined;
  /** What the address will have of what is typed. */
  read: (typed: string) => string | undefined;
  onTyped: (typed: string) => void;
};

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
  const apply = useDebouncedCallback((text: string) => {
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
