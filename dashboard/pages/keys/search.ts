import {
  type PageSearch,
  present,
  type RawSearch,
  readChoice,
  readId,
  readPage,
} from "../../search.ts";
import { KEY_STATES } from "../../vocabulary.ts";

export type KeysSearch = PageSearch & {
  state?: (typeof KEY_STATES)[number];
  /** `create`; with an id `revoke`, or `create` to replace that key. */
  dialog?: "create" | "revoke";
  id?: string;
};

export function readKeys(raw: RawSearch): KeysSearch {
  const dialog = readChoice(raw["dialog"], ["create", "revoke"]);
  return {
    ...readPage(raw),
    ...present({
      state: readChoice(raw["state"], KEY_STATES),
      dialog,
      id: dialog && readId(raw["id"]),
    }),
  };
}
