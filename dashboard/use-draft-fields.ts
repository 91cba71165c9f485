import { useEffect, useState } from "react";
import { type Draft, draftOf } from "./drafts.ts";
import { useAccount, useMe } from "./session.ts";
import { type Checks, type Fields, useFields } from "./ui/use-fields.ts";

/** Of this person in this account: it stands in no other form. */
export function useDraft(name: string): Draft {
  const { userId } = useMe();
  const { accountId } = useAccount();
  const [draft] = useState(() => draftOf(userId, `${accountId} ${name}`));
  return draft;
}

/**
 * The fields of a form whose content is kept for this tab, so that a session that ends or a reload does not
 * lose it; where nothing can be kept it lives as long as the page. Never used for anything secret.
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
