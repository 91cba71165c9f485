/**
 * How long a node may be silent before others take over what it holds: messages, webhooks, binds.
 * With the seconds they take to notice and bind anew, a dead node's work continues within 30 s.
 */
export const LEASE_MS = 25_000;
