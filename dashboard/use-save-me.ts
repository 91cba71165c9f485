import { useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { call } from "./api.ts";
import { type Me, meOptions } from "./session.ts";
import { useAction } from "./use-action.ts";
import { askAgain } from "./use-read.ts";

type Change = { name?: string; preferences?: Partial<Me["preferences"]> };

/** What is chosen shows at once; changes that follow each other quickly are saved one after the other. */
export function useSaveMe() {
  const client = useQueryClient();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const { queryKey } = meOptions;
  const save = useAction((change: Change) => {
    const version = client.getQueryData<Me>(queryKey)?.version ?? 0;
    return call("PATCH /console/me", { body: { version, ...change } });
  });
  async function send(change: Change) {
    const outcome = await save.run(change);
    if (outcome?.ok) client.setQueryData<Me>(queryKey, outcome.result);
    else askAgain(client, ["GET /console/me"]);
    return outcome;
  }
  return {
    ...save,
    run(change: Change) {
      client.setQueryData<Me>(
        queryKey,
        (me) => me && { ...me, preferences: { ...me.preferences, ...change.preferences } },
      );
      const sent = last.current.then(() => send(change));
      last.current = sent;
      return sent;
    },
  };
}
