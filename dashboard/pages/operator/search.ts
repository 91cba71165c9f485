import { type RangedPageSearch, readRangedPage } from "../../range.ts";
import {
  type PageSearch,
  present,
  type RawSearch,
  readId,
  readPage,
  readText,
} from "../../search.ts";

export type QuerySearch = PageSearch & { q?: string };

export function readQuery(raw: RawSearch): QuerySearch {
  return { ...readPage(raw), ...present({ q: readText(raw["q"], 60) }) };
}

/** The query in the form that the server takes. */
export function queryOf({ q, cursor, limit }: QuerySearch) {
  return present({ q, cursor, limit: limit && Number(limit) });
}

export type AuditSearch = RangedPageSearch & {
  action?: string;
  actor?: string;
  accountId?: string;
  objectId?: string;
};

export function readAudit(raw: RawSearch): AuditSearch {
  return {
    ...readRangedPage(raw),
    ...present({
      action: readText(raw["action"], 60),
      actor: readText(raw["actor"], 100),
      accountId: readId(raw["accountId"]),
      objectId: readText(raw["objectId"], 100),
    }),
  };
}
