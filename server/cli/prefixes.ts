import { required } from "./input.ts";
import { prefix } from "./input-values.ts";

export const prefixArgument = required(
  "PREFIX",
  prefix,
  'First digits of the numbers, such as 49; "" for all.',
);

/** As it is typed: an empty one would not be seen. */
export function shownPrefix(prefix: string): string {
  return prefix === "" ? '""' : prefix;
}
