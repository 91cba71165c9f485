import { useState } from "react";
import type { WebhookDelivery } from "#contract";
import { type Answer, type Input } from "../../api.ts";
import { type Read, useRead } from "../../use-read.ts";
import { steadyRows } from "./steady-rows.ts";

const LIST = "GET /console/accounts/{accountId}/webhook-deliveries";
type List = Answer<typeof LIST>;
type Shown = { question: string; page: List; rows: WebhookDelivery[] };

export type Deliveries = Read<List> & {
  rows: WebhookDelivery[] | undefined;
  newCount: number;
  /** There are more new ones than a page holds. */
  hasMoreNew: boolean;
  showNew: () => void;
};

/** A page of deliveries, which live events ask for again, and whose rows stay where they are. */
export function useDeliveries(input: Input<typeof LIST>): Deliveries {
  const list = useRead(LIST, input, { keepsOld: true });
  const question = JSON.stringify(input);
  const [shown, setShown] = useState<Shown>();
  const page = list.data;
  if (page && !list.isStale && (shown?.page !== page || shown.question !== question)) {
    const isSame = shown?.question === question;
    setShown({ question, page, rows: isSame ? steadyRows(shown.rows, page) : page.data });
  }
  const rows = page && shown?.rows;
  const isShown = new Set(rows?.map(({ deliveryId }) => deliveryId));
  const waiting = shown?.page.data.filter(({ deliveryId }) => !isShown.has(deliveryId)) ?? [];
  return {
    ...list,
    rows: useDrivenOff(input, rows, shown?.page),
    newCount: waiting.length,
    hasMoreNew: waiting.length === shown?.page.data.length && shown.page.nextCursor !== null,
    showNew: () => shown && setShown({ ...shown, rows: shown.page.data }),
  };
}

/** With the rows that new ones drove off the first page read as well: they are those made before. */
function useDrivenOff(
  input: Input<typeof LIST>,
  rows: WebhookDelivery[] | undefined,
  page: List | undefined,
): WebhookDelivery[] | undefined {
  const isOnPage = new Set(page?.data.map(({ deliveryId }) => deliveryId));
  const isOn =
    input.query?.cursor === undefined &&
    rows?.some(({ deliveryId }) => !isOnPage.has(deliveryId)) === true;
  const newest = Math.max(...(rows ?? []).map(({ createdAt }) => Date.parse(createdAt)));
  const createdBefore = isOn ? new Date(newest + 1).toISOString() : "";
  const before = useRead(
    LIST,
    { ...input, query: { ...input.query, createdBefore } },
    { isOn, keepsOld: true },
  );
  const found = new Map(before.data?.data.map((row) => [row.deliveryId, row]));
  return rows?.map((row) =>
    isOn && !isOnPage.has(row.deliveryId) ? (found.get(row.deliveryId) ?? row) : row,
  );
}
