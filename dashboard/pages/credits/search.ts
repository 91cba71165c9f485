import {
  type PageSearch,
  present,
  type RawSearch,
  readChoices,
  readId,
  readPage,
  readText,
} from "../../search.ts";
import { LEDGER_KINDS } from "../../vocabulary.ts";

export type CreditsSearch = PageSearch & {
  kind?: (typeof LEDGER_KINDS)[number][];
  /** A month in UTC, such as 2026-11. */
  month?: string;
  messageId?: string;
};

export function readCredits(raw: RawSearch): CreditsSearch {
  const month = readText(raw["month"], 7);
  return {
    ...readPage(raw),
    ...present({
      kind: readChoices(raw["kind"], LEDGER_KINDS),
      month: month !== undefined && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) ? month : undefined,
      messageId: readId(raw["messageId"]),
    }),
  };
}
