import type { AnyCommand } from "./command.ts";

/**
 * All commands by the first word of their names, in the order of the help. Each group, with the
 * rooms it needs, is loaded only when called: a command that books credits loads no carriers.
 */
const groups: Record<string, () => Promise<readonly AnyCommand[]>> = {
  start: async () => (await import("./service-commands.ts")).startCommands,
  migrate: async () => (await import("./service-commands.ts")).migrateCommands,
  account: async () => (await import("./account-commands.ts")).accountCommands,
  user: async () => (await import("./user-commands.ts")).userCommands,
  key: async () => (await import("./key-commands.ts")).keyCommands,
  credits: async () => (await import("./credit-commands.ts")).creditCommands,
  carrier: async () => (await import("./carrier-commands.ts")).carrierCommands,
  route: async () => (await import("./route-commands.ts")).routeCommands,
  price: async () => (await import("./price-commands.ts")).priceCommands,
  send: async () => (await import("./send-command.ts")).sendCommands,
  listen: async () => (await import("./listen-command.ts")).listenCommands,
  webhook: async () => (await import("./webhook-commands.ts")).webhookCommands,
  secrets: async () => (await import("./secret-commands.ts")).secretCommands,
  doctor: async () => (await import("./doctor-command.ts")).doctorCommands,
  audit: async () => (await import("./audit-command.ts")).auditCommands,
  smsc: async () => (await import("./smsc-command.ts")).smscCommands,
};

/** The commands that begin with this word; all commands if it is unknown or left out. */
export async function loadCommands(word?: string): Promise<readonly AnyCommand[]> {
  if (word !== undefined && Object.hasOwn(groups, word)) return groups[word]?.() ?? [];
  const loaded = await Promise.all(Object.values(groups).map((load) => load()));
  return loaded.flat();
}
