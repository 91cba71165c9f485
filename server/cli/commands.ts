import { accountCommands } from "./account-commands.ts";
import { auditCommands } from "./audit-command.ts";
import { carrierCommands } from "./carrier-commands.ts";
import type { AnyCommand } from "./command.ts";
import { creditCommands } from "./credit-commands.ts";
import { doctorCommands } from "./doctor-command.ts";
import { keyCommands } from "./key-commands.ts";
import { priceCommands } from "./price-commands.ts";
import { routeCommands } from "./route-commands.ts";
import { sendCommands } from "./send-command.ts";
import { serviceCommands } from "./service-commands.ts";
import { smscCommands } from "./smsc-command.ts";

/** Every command, in the order in which help lists them. */
export const commands: readonly AnyCommand[] = [
  ...serviceCommands,
  ...accountCommands,
  ...keyCommands,
  ...creditCommands,
  ...carrierCommands,
  ...routeCommands,
  ...priceCommands,
  ...sendCommands,
  ...doctorCommands,
  ...auditCommands,
  ...smscCommands,
];
