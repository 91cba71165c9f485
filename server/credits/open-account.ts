import { createAccount } from "#accounts";
import { type Database, within } from "#platform";
import { bookCredits } from "./credits.ts";

type NewAccount = Parameters<typeof createAccount>[1] & { credits: number };

/** Creates an account with its initial credits, all or nothing. */
export function openAccount(db: Database, { credits, ...account }: NewAccount) {
  return db.transaction(async (tx) => {
    const made = await createAccount(within(tx), account);
    const { accountId } = made;
    const { actor, now } = account;
    const note = "Credits to start with";
    const topup = { accountId, kind: "topup", amount: credits, note, actor, now } as const;
    if (credits > 0) await bookCredits(within(tx), topup);
    return made;
  });
}
