import { type Access, type MemberRole, memberRoles } from "#contract";
import { Problem } from "#http";
import type { Transaction } from "#platform";
import type { Person } from "./console-call.ts";
import { lockRole } from "./members.ts";
import { lockOperator } from "./users.ts";

export type Admission = { person: Person | undefined; role: MemberRole | undefined };

export function requireAccess(access: Access, { person, role }: Admission): void {
  if (access === "public" || access === "setup") return;
  if (!person) throw new Problem("SESSION_REQUIRED");
  if (access === "pending") return;
  if (person.isPending) throw new Problem("SECOND_FACTOR_REQUIRED");
  if (access === "user") return;
  if (access === "operator") {
    // For everybody else these operations do not exist.
    if (!person.isOperator) throw new Problem("ROUTE_NOT_FOUND");
    return;
  }
  if (!role) throw new Problem("ACCOUNT_NOT_FOUND");
  if (memberRoles.indexOf(role) < memberRoles.indexOf(access)) throw roleDenied(access);
}

export function roleDenied(needed: MemberRole): Problem {
  const who = needed === "owner" ? "An owner" : "A developer or an owner";
  return new Problem("ROLE_DENIED", [
    { field: null, code: "FIELD_INVALID", message: `${who} of the account may do this.` },
  ]);
}

/**
 * Refuses a person who has lost the role since they were let in. Otherwise they keep it until the
 * transaction ends: a change that takes it away waits, and then sees what was given out.
 */
export async function holdAccess(
  tx: Transaction,
  access: Access,
  { person, accountId }: { person: Person | undefined; accountId: string | undefined },
): Promise<void> {
  if (!person) return requireAccess(access, { person, role: undefined });
  const { userId } = person;
  if (access === "operator") {
    const isOperator = await lockOperator(tx, userId);
    return requireAccess(access, { person: { ...person, isOperator }, role: undefined });
  }
  const role = accountId === undefined ? undefined : await lockRole(tx, { accountId, userId });
  requireAccess(access, { person, role });
}
