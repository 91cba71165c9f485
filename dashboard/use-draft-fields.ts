import { useEffect, useState } from "react";
import { type Draft, draftOf } from "./drafts.ts";
import { useAccount, useMe } from "./session.ts";
import { type Checks, type Fields, useFields } from "./ui/use-fields.ts";

/** A draft of this person in this account; each form has its own name. */
export function useDraft(name: string): Draft {
  const { userId } = useMe();
  const { accountId } = useAccount();
  const [draft] = useState(() => draftOf(userId, `${accountId} ${name}`));
  return draft;
}

/**
 * The fields of a form, kept for this tab, so that they survive a reload or the end of a session;
 * without storage, they last as long as the page. Never use it for secrets.
 */
export function useDraftFields<Values extends Record<string, unknown>>(
  name: string,
  initial: Values,
  checks: Checks<Values>,
  shown?: readonly string[],
): { fields: Fields<Values>; forget: () => void } {
  const draft = useDraft(name);
  const [kept] = useState(() => ({ ...initial, ...draft.read() }));
  const fields = useFields<Values>(kept, checks, shown);
  const { values } = fields;
  useEffect(() => draft.keep(values), [draft, values]);
  return { fields, forget: draft.forget };
}
