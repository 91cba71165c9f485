import { useSyncExternalStore } from "react";

/**
 * The token of a one-time link is behind `#token=`, which browsers never send. It is taken out of
 * the address before anything else happens, kept only in memory, and sent only in a request's body.
 */
let token: string | undefined;
const listeners = new Set<() => void>();

export function takeLinkToken(): void {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found === null) return;
  token = found;
  history.replaceState(history.state, "", `${location.pathname}${location.search}`);
  for (const listener of listeners) listener();
}

export function useLinkToken(): string | undefined {
  return useSyncExternalStore(subscribe, () => token);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function forgetLinkToken(): void {
  token = undefined;
}
