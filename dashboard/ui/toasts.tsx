import { Suspense, useEffect, useSyncExternalStore } from "react";
import { part } from "../parts.ts";

export type Toast = {
  title: string;
  message: string;
  /** Something failed. It stays until it is dismissed. */
  isWarning?: boolean;
};

/** Loaded after the page, so that the page does not wait for it. */
const load = () => import("./toast-stack.tsx");
const ToastStack = part(load, "default");

const waiting: Toast[] = [];
const listeners = new Set<() => void>();
let shown = 0;

/** Announces that something was done, or warns that it was not. */
export function toast(content: Toast): void {
  waiting.push(content);
  shown += 1;
  for (const listener of listeners) listener();
}

/** The toasts not shown yet. */
export function takeToasts(): Toast[] {
  return waiting.splice(0);
}

const FETCH_AFTER_MS = 2_000;

export function Toasts() {
  const count = useSyncExternalStore(subscribe, () => shown);
  // Load it before it is needed: its first message may be that the service is away.
  useEffect(() => {
    const fetching = setTimeout(() => void load().catch(() => undefined), FETCH_AFTER_MS);
    return () => clearTimeout(fetching);
  }, []);
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
