import { accountCommands } from "./account-commands.ts";
import { auditCommands } from "./audit-command.ts";
import type { AnyCommand } from "./command.ts";
import { creditCommands } from "./credit-commands.ts";
import { keyCommands } from "./key-commands.ts";
import { priceCommands } from "./price-commands.ts";
import { serviceCommands } from "./service-commands.ts";

/** Every command, in the order in which help lists them. */
export const commands: readonly AnyCommand[] = [
  ...serviceCommands,
  ...accountCommands,
  ...keyCommands,
  ...creditCommands,
  ...priceCommands,
  ...auditCommands,
];
