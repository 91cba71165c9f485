import type { Clock } from "#platform";
import { connectBudgets, type Egress } from "./connect.ts";
import type { EgressPolicy } from "./policy.ts";
import { type SystemResolve, systemResolve } from "./resolve.ts";
import { trust } from "./trust.ts";

/** The way out of this machine, with its system's name resolution and certificates. */
export function systemEgress(
  policy: EgressPolicy,
  clock: Clock,
): Egress & { resolve: SystemResolve } {
  const resolve = systemResolve({ clock });
  return { policy, clock, resolve, trust: trust(), budgets: connectBudgets };
}
