import { useQueryClient } from "@tanstack/react-query";
import { call } from "./api.ts";
import { type Me, meOptions } from "./session.ts";
import { useAction } from "./use-action.ts";
import { askAgain } from "./use-read.ts";

type Change = { name?: string; preferences?: Partial<Me["preferences"]> };

const ME = "GET /console/me";

/** Of the menu and of all parts of the profile: each change names the version that the one before it made. */
let last: Promise<unknown> = Promise.resolve();

/** What is chosen shows at once; changes that follow each other quickly are saved one after the other. */
export function useSaveMe() {
  const client = useQueryClient();
  const { queryKey } = meOptions;
  // All of it is done though the page was left: the next change needs the version of this one.
  const save = useAction(async (change: Change) => {
    const version = client.getQueryData<Me>(queryKey)?.version ?? 0;
    try {
      const me = await call("PATCH /console/me", { body: { version, ...change } });
      // What is read meanwhile may be older; it may also have been asked for by another change.
      const isAsked = client.isFetching({ queryKey }) > 0;
      await client.cancelQueries({ queryKey });
      client.setQueryData<Me>(queryKey, me);
      if (isAsked) askAgain(client, [ME]);
      return me;
    } catch (error) {
      askAgain(client, [ME]);
      throw error;
    }
  });
  return {
    ...save,
    run(change: Change) {
      // What is read by now would show the former choice again; the answer to this one tells all of it.
      void client.cancelQueries({ queryKey });
      client.setQueryData<Me>(
        queryKey,
        (me) => me && { ...me, preferences: { ...me.preferences, ...change.preferences } },
      );
      const sent = last.then(() => save.run(change));
      last = sent;
      return sent;
    },
  };
}
