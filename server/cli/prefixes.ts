import { required } from "./input.ts";
import { prefix } from "./input-values.ts";

export const prefixArgument = required(
  "PREFIX",
  prefix,
  'First digits of the numbers, such as 49; "" for all.',
);

/** As it is typed: quoted if empty, as nothing would be seen otherwise. */
export function shownPrefix(prefix: string): string {
  return prefix === "" ? '""' : prefix;
}
