/**
 * How long a node may be silent before others take over what it holds: messages to send, webhooks, binds.
 * With the seconds in which they notice it, and bind anew, a dead node's work goes on within 30 s.
 */
export const LEASE_MS = 25_000;
