import { Suspense, useSyncExternalStore } from "react";
import { part } from "../parts.ts";

export type Toast = {
  title: string;
  message: string;
  /** Something did not happen. It stays until it is dismissed. */
  isWarning?: boolean;
};

/** Loaded with the first toast, so that no page waits for it. */
const ToastStack = part(() => import("./toast-stack.tsx"), "default");

const waiting: Toast[] = [];
const listeners = new Set<() => void>();
let shown = 0;

/** Says politely that something was done, or warns that it was not. */
export function toast(content: Toast): void {
  waiting.push(content);
  shown += 1;
  for (const listener of listeners) listener();
}

/** What was said and not yet shown. */
export function takeToasts(): Toast[] {
  return waiting.splice(0);
}

export function Toasts() {
  const count = useSyncExternalStore(subscribe, () => shown);
  if (count === 0) return null;
  return (
    <Suspense>
      <ToastStack count={count} />
    </Suspense>
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
