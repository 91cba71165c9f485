import { useQueryClient } from "@tanstack/react-query";
import { call } from "./api.ts";
import { type Me, meOptions } from "./session.ts";
import { useAction } from "./use-action.ts";
import { askAgain } from "./use-read.ts";

type Change = { name?: string; preferences?: Partial<Me["preferences"]> };

/** Of the menu and of all parts of the profile: each change names the version that the one before it made. */
let last: Promise<unknown> = Promise.resolve();

/** What is chosen shows at once; changes that follow each other quickly are saved one after the other. */
export function useSaveMe() {
  const client = useQueryClient();
  const { queryKey } = meOptions;
  const save = useAction((change: Change) => {
    const version = client.getQueryData<Me>(queryKey)?.version ?? 0;
    return call("PATCH /console/me", { body: { version, ...change } });
  });
  async function send(change: Change) {
    const outcome = await save.run(change);
    if (outcome?.ok) {
      // What was read meanwhile may be older.
      await client.cancelQueries({ queryKey });
      client.setQueryData<Me>(queryKey, outcome.result);
    } else askAgain(client, ["GET /console/me"]);
    return outcome;
  }
  return {
    ...save,
    run(change: Change) {
      client.setQueryData<Me>(
        queryKey,
        (me) => me && { ...me, preferences: { ...me.preferences, ...change.preferences } },
      );
      const sent = last.then(() => send(change));
      last = sent;
      return sent;
    },
  };
}
