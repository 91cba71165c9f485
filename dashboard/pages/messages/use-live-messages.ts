import type { ConsoleMessage } from "#contract";
import { type Answer, call, type Input } from "../../api.ts";
import { COUNTED, type LiveRows, useLiveRows } from "../../use-live-rows.ts";
import { type Read, readOptions } from "../../use-read.ts";

const LIST = "GET /console/accounts/{accountId}/messages";
type ListInput = Input<typeof LIST>;

type Options = { isFirstPage: boolean; isLive: boolean };

export function useLiveMessages(
  list: Read<Answer<typeof LIST>>,
  input: ListInput,
  options: Options,
): LiveRows {
  const { accountId } = input.params;
  return useLiveRows<ConsoleMessage>({
    ...options,
    list,
    queryKey: readOptions(LIST, input).queryKey,
    idOf: ({ message }) => message.messageId,
    versionOf: ({ version }) => version,
    changedId: (event) => (event.type === "message" ? event.id : undefined),
    isOfAll: ({ type }) => type === "all" || type === "messages",
    isEnded: ({ message: { status } }) => status !== "QUEUED" && status !== "SENT",
    readPage: (shown) => call(LIST, options.isFirstPage ? upTo(input, shown) : input),
    readRow: (messageId) =>
      call("GET /console/accounts/{accountId}/messages/{messageId}", {
        params: { accountId, messageId },
      }),
    countNew: ([newest]) => countNewer(input, newest?.message.createdAt ?? ""),
  });
}

/** The page that starts with the row now shown first, however many have come since. */
function upTo(input: ListInput, [newest]: ConsoleMessage[]): ListInput {
  if (!newest) return input;
  const createdBefore = new Date(Date.parse(newest.message.createdAt) + 1).toISOString();
  return { ...input, query: { ...input.query, createdBefore } };
}

async function countNewer(input: ListInput, newest: string): Promise<number> {
  const createdAfter = new Date(Date.parse(newest) + 1).toISOString();
  const query = { ...input.query, createdAfter, limit: COUNTED };
  const page = await call(LIST, { ...input, query });
  return page.data.length;
}
