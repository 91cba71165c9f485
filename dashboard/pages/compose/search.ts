import { present, type RawSearch, readId } from "../../search.ts";

/** `again` fills the form from that message; `sent` is the message whose timeline is shown. */
export type ComposeSearch = { again?: string; sent?: string };

export function readCompose(raw: RawSearch): ComposeSearch {
  return present({ again: readId(raw["again"]), sent: readId(raw["sent"]) });
}
