/** Where counting what waits stops, so that looking costs the same behind any backlog. */
export const MAX_COUNTED = 100_000;
