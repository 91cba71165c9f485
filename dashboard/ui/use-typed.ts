import { useDebouncedCallback } from "@mantine/hooks";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useIsAnother } from "./use-is-another.ts";

const TYPING_MS = 400;

type Options = {
  /** The value in the address. */
  value: string | undefined;
  /** Converts the typed text to the value in the address. */
  read: (typed: string) => string | undefined;
  onTyped: (typed: string) => void;
};

const shown = new Set<() => void>();

/** Empties every filter field, even of text that is not yet in the address. */
export function emptyTyped(): void {
  for (const empty of shown) empty();
}

/**
 * The text of a filter field: applied a moment after the last key press. It follows the address,
 * unless that only reflects what was typed here, for example trimmed or ignored.
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
  const router = useRouter();
  const apply = useDebouncedCallback((text: string, pathname: string) => {
    // It has changed again within that moment, or the page is being left.
    if (text !== typed || router.latestLocation.pathname !== pathname) return;
    setApplied(read(text));
    onTyped(text);
  }, TYPING_MS);
  return [
    typed,
    (text) => {
      setTyped(text);
      apply(text, router.latestLocation.pathname);
    },
  ];
}
