import { useRouter } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import { type Draft, draftOf } from "./drafts.ts";
import { isAtSignIn, useAccount, useMe } from "./session.ts";
import { type Checks, type Fields, useFields } from "./ui/use-fields.ts";

function useDraft(name: string): Draft {
  const { userId } = useMe();
  const [draft] = useState(() => draftOf(userId, name));
  return draft;
}

/**
 * The fields of a form, kept for this tab and account until they are forgotten; without storage,
 * they last as long as the page. Never use it for secrets.
 */
export function useDraftFields<Values extends Record<string, unknown>>(
  name: string,
  initial: Values,
  checks: Checks<Values>,
  shown?: readonly string[],
): { fields: Fields<Values>; forget: () => void } {
  const { accountId } = useAccount();
  const draft = useDraft(`${accountId} ${name}`);
  const [kept] = useState(() => ({ ...initial, ...draft.read(initial) }));
  const fields = useFields<Values>(kept, checks, shown);
  const { values } = fields;
  useEffect(() => draft.keep(values), [draft, values]);
  return { fields, forget: draft.forget };
}

/**
 * The fields of a form, of which a reload or the end of the session loses nothing. Whoever closes or
 * leaves the form discards what was typed. Each form, and each thing it is about, has a name of its
 * own. Never use it for secrets.
 */
export function useFormFields<Values extends Record<string, unknown>>(
  name: string,
  initial: Values,
  checks: Checks<Values>,
): Fields<Values> {
  const router = useRouter();
  const draft = useDraft(name);
  const fields = useFields<Values>(initial, checks);
  const { values } = fields;
  // Not read while rendering: only after that does a form that this one replaces discard its own.
  const restore = useEffectEvent(() => fields.setValues(draft.read(initial)));
  useEffect(() => {
    restore();
    return () => {
      if (!isAtSignIn(router)) draft.forget();
    };
  }, [draft, router]);
  const keep = useEffectEvent((typed: Values) => {
    // Not the other fields: someone else may change them meanwhile.
    const own = Object.entries(typed).filter(([field]) => fields.isDirty(field));
    if (own.length > 0) draft.keep(Object.fromEntries(own));
    else draft.forget();
  });
  useEffect(() => keep(values), [values]);
  return fields;
}
