import { type PageSearch, present, type RawSearch, readPage } from "../../search.ts";

export const ROUTE = "/signed-in/team";

/** The position in the list of members, and in that of invitations. */
export type TeamSearch = PageSearch & {
  invitationsCursor?: string;
  invitationsLimit?: PageSearch["limit"];
};

export function readTeam(raw: RawSearch): TeamSearch {
  const { invitationsCursor, invitationsLimit } = raw;
  const { cursor, limit } = readPage({ cursor: invitationsCursor, limit: invitationsLimit });
  return {
    ...readPage(raw),
    ...present({ invitationsCursor: cursor, invitationsLimit: limit }),
  };
}
