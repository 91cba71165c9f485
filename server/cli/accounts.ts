import { type AccountRow, findAccount, nameFaults } from "#accounts";
import type { Queryable } from "#platform";
import { CommandFailure } from "./command.ts";
import { required } from "./input.ts";
import { id } from "./input-values.ts";

/** The account that a command acts on. */
export const accountOption = required("ID", id, "The account's id; see account list.");

export async function requireAccount(db: Queryable, accountId: string): Promise<AccountRow> {
  const account = await findAccount(db, accountId);
  return account ?? unknownAccount(accountId);
}

export function unknownAccount(accountId: string): never {
  throw new CommandFailure(
    `There is no account ${accountId}. List them with: npx posthorn account list`,
  );
}

/** A name for an account or a key. */
export function chosenName(value: string): string {
  const [fault] = nameFaults(value);
  if (fault !== undefined) throw new Error(fault);
  return value.trim();
}
