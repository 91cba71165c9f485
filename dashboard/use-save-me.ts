import { useQueryClient } from "@tanstack/react-query";
import { call } from "./api.ts";
import { type Me, meOptions } from "./session.ts";
import { useAction } from "./use-action.ts";
import { askAgain } from "./use-read.ts";

type Change = { name?: string; preferences?: Partial<Me["preferences"]> };

const ME = "GET /console/me";

/** Shared by menu and profile: each change needs the version that the one before it made. */
let last: Promise<unknown> = Promise.resolve();

/** A choice shows at once; quick successive changes are saved one after the other. */
export function useSaveMe() {
  const client = useQueryClient();
  const { queryKey } = meOptions;
  // All of this runs even if the page was left: the next change needs this one's version.
  const save = useAction(async (change: Change) => {
    const version = client.getQueryData<Me>(queryKey)?.version ?? 0;
    try {
      const me = await call("PATCH /console/me", { body: { version, ...change } });
      // A read under way may be older than this; another change may also have requested it.
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
      // Reads under way would restore the former choice; the answer to this one is complete.
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
