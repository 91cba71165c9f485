/** How long a node may be silent before others take over what it holds: messages to send, webhooks, binds. */
export const LEASE_MS = 30_000;
