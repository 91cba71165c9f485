import type { WebhookDelivery } from "#contract";
import { type Answer, call, type Input } from "../../api.ts";
import { COUNTED, type LiveRows, useLiveRows } from "../../use-live-rows.ts";
import { type Read, readOptions } from "../../use-read.ts";

const LIST = "GET /console/accounts/{accountId}/webhook-deliveries";
type ListInput = Input<typeof LIST>;
type List = Answer<typeof LIST>;

export function useLiveDeliveries(list: Read<List>, input: ListInput): LiveRows {
  const { accountId } = input.params;
  return useLiveRows<WebhookDelivery>({
    list,
    queryKey: readOptions(LIST, input).queryKey,
    isFirstPage: input.query?.cursor === undefined,
    idOf: ({ deliveryId }) => deliveryId,
    versionOf: ({ attempts }) => attempts,
    changedId: (event) => (event.type === "delivery" ? event.id : undefined),
    isOfAll: ({ type }) => type === "all",
    // Ended ones can be sent again.
    isEnded: () => false,
    readPage: () => call(LIST, input),
    readRow: (deliveryId) =>
      call("GET /console/accounts/{accountId}/webhook-deliveries/{deliveryId}", {
        params: { accountId, deliveryId },
      }),
    countNew: (shown) => countNew(input, shown, list.data?.nextCursor !== null),
  });
}

/**
 * New rows may appear anywhere: for an old message, or as a new state fits the filter. Those behind
 * the last row belong to the next page, if there is one. Rows are ordered by id.
 */
async function countNew(
  input: ListInput,
  shown: WebhookDelivery[],
  hasNextPage: boolean,
): Promise<number> {
  const page = await call(LIST, { ...input, query: { ...input.query, limit: COUNTED } });
  const isShown = new Set(shown.map(({ deliveryId }) => deliveryId));
  const last = hasNextPage ? (shown.at(-1)?.deliveryId ?? "") : "";
  return page.data.filter(({ deliveryId }) => deliveryId > last && !isShown.has(deliveryId)).length;
}
