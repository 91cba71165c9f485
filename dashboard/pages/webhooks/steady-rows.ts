import type { WebhookDelivery } from "#contract";

type Page = { data: WebhookDelivery[]; nextCursor: string | null };

/**
 * The shown rows as a newer answer has them, none moved: what left the list goes, what comes behind
 * the last row is put there, and what comes between waits for the reader. Ids are in the order of rows.
 */
export function steadyRows(shown: WebhookDelivery[], page: Page): WebhookDelivery[] {
  const found = new Map(page.data.map((row) => [row.deliveryId, row]));
  const [lastShown, lastFound] = [shown.at(-1), page.data.at(-1)];
  if (!lastShown || !lastFound) return page.data;
  // New rows may fill the page: then those behind its end are still there.
  const isBehind = (row: WebhookDelivery) =>
    page.nextCursor !== null && row.deliveryId < lastFound.deliveryId;
  const rows = [
    ...shown.flatMap((row) => found.get(row.deliveryId) ?? (isBehind(row) ? row : [])),
    ...page.data.filter((row) => row.deliveryId < lastShown.deliveryId),
  ];
  return rows.length > 0 ? rows : page.data;
}
