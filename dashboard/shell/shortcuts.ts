import { useEffect, useEffectEvent } from "react";
import { useMe } from "../session.ts";

/** In these, single letters are text or belong to the focused widget. */
const TAKES_KEYS = "input, textarea, select, [contenteditable], [role=listbox], [role=menu]";

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest(TAKES_KEYS) !== null;
}

export function hasOpenDialog(): boolean {
  return document.querySelector("[role=dialog]") !== null;
}

const SEQUENCE_KEY = "g";
/** The second letter must follow the first within this time. */
const SEQUENCE_MS = 1_500;

/**
 * Single-letter shortcuts such as `n`, `/` or `g k`. Off while typing, under a dialog, with a
 * modifier, and if the profile switches them off.
 */
export function useShortcuts(actions: Record<string, () => void>): void {
  const { preferences } = useMe();
  const act = useEffectEvent((keys: string) => {
    actions[keys]?.();
    return Object.hasOwn(actions, keys);
  });
  useEffect(() => {
    if (!preferences.shortcuts) return;
    let begunAt = -Infinity;
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.defaultPrevented || isTyping(event) || hasOpenDialog()) return;
      const isSecond = event.timeStamp - begunAt < SEQUENCE_MS;
      begunAt = event.key === SEQUENCE_KEY && !isSecond ? event.timeStamp : -Infinity;
      if (act(isSecond ? `${SEQUENCE_KEY} ${event.key}` : event.key)) event.preventDefault();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [preferences.shortcuts]);
}

/** Moves the focus to the next or the previous row of the page's list. */
export function stepRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll("main [data-row]:has(a, button)")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step;
  const row = rows[Math.max(0, Math.min(rows.length - 1, next))];
  row?.querySelector<HTMLElement>("a, button")?.focus();
}
