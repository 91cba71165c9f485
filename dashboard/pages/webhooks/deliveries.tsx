import { Group, Stack, Text } from "@mantine/core";
import { IconWebhook } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { Input } from "../../api.ts";
import { part } from "../../parts.ts";
import type { Bounds } from "../../range.ts";
import { type PageSearch, present } from "../../search.ts";
import { useAccount } from "../../session.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { ClearFilters } from "../../ui/clear-filters.tsx";
import { Empty, NoneSoFar } from "../../ui/empty.tsx";
import { Listing } from "../../ui/listing.tsx";
import { NewRows } from "../../ui/new-rows.tsx";
import { Pager } from "../../ui/pager.tsx";
import { useBounds } from "../../ui/use-bounds.ts";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useRead } from "../../use-read.ts";
import { DeliveryFilters, isFiltered } from "./delivery-filters.tsx";
import type { WebhooksSearch } from "./search.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { COLUMNS, CompactDelivery, selectColumn } from "./delivery-row.tsx";
import { useLiveDeliveries } from "./use-live-deliveries.ts";

const DeliveryDrawer = part(() => import("./delivery-drawer.tsx"), "DeliveryDrawer");

const LIST = "GET /console/accounts/{accountId}/webhook-deliveries";

export function Deliveries() {
  const { accountId } = useAccount();
  const search = useSearch({ from: "/signed-in/webhooks" });
  const navigate = useNavigate({ from: "/webhooks" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const bounds = useBounds(search);
  const input = inputOf(accountId, search, bounds);
  const deliveries = useRead(LIST, input, { keepsOld: true, staysPut: true });
  const rows = deliveries.data?.data;
  const live = useLiveDeliveries(deliveries, input);
  const select = selectColumn({ rows, selected, onSelect: setSelected });
  const isNothingYet = rows?.length === 0 && !isFiltered(search) && !search.cursor;
  useCursorFallback(deliveries.failure, () =>
    navigate({ search: ({ cursor: _, ...rest }) => rest, replace: true }),
  );
  const change = (changed: Partial<WebhooksSearch>, isTyping = false) =>
    void navigate({
      search: (old) => present({ ...old, cursor: undefined, ...changed }),
      replace: isTyping,
      resetScroll: false,
    });
  const turn = (turned: PageSearch) =>
    void navigate({ search: (old) => present({ ...old, ...turned, at: bounds.at }) });
  const open = (id: string) =>
    void navigate({ search: (old) => ({ ...old, id }), resetScroll: false });
  return (
    <Stack gap="md">
      {!isNothingYet && (
        <DeliveryFilters
          search={search}
          onChange={change}
          bar={
            <Group justify="space-between" flex={1} wrap="nowrap" mih={26}>
              <Text span size="xs" c="dimmed">
                {rows && rows.length > 0 && text.order}
              </Text>
              <div role="status">
                <NewRows
                  count={live.newCount}
                  onShow={search.range ? bounds.renew : live.showNew}
                />
              </div>
            </Group>
          }
        />
      )}
      <Listing
        label={text.tabs.deliveries}
        columns={[select, ...COLUMNS]}
        list={deliveries}
        rowId={({ deliveryId }) => deliveryId}
        empty={
          <NoDeliveries
            search={search}
            nextCursor={deliveries.data?.nextCursor ?? null}
            onFurther={(cursor) => turn({ cursor })}
          />
        }
        compact={(row) => <CompactDelivery row={row} tick={select.cell(row)} />}
        onOpen={({ deliveryId }) => open(deliveryId)}
      />
      <Pager list={deliveries} search={search} onTurn={turn} />
      {selected.size > 0 && (
        <SelectionBar ids={[...selected]} onClear={() => setSelected(new Set())} />
      )}
      <Suspense>
        {search.id && (
          <DeliveryDrawer
            deliveryId={search.id}
            onClose={() =>
              void navigate({ search: ({ id: _, ...rest }) => rest, resetScroll: false })
            }
          />
        )}
      </Suspense>
    </Stack>
  );
}

function inputOf(
  accountId: string,
  search: WebhooksSearch,
  { from, to }: Bounds,
): Input<typeof LIST> {
  const { state, event, host, messageId, httpStatus, cursor, limit } = search;
  const query = present({
    state,
    event,
    host,
    messageId,
    httpStatus: httpStatus === undefined ? undefined : Number(httpStatus),
    createdAfter: from,
    createdBefore: to,
    cursor,
    limit: limit && Number(limit),
  });
  return { params: { accountId }, query };
}

type NoneProps = {
  search: WebhooksSearch;
  nextCursor: string | null;
  onFurther: (cursor: string) => void;
};

function NoDeliveries({ search, nextCursor, onFurther }: NoneProps) {
  const navigate = useNavigate({ from: "/webhooks" });
  if (nextCursor !== null) {
    return <NoneSoFar icon={<IconWebhook aria-hidden />} onFurther={() => onFurther(nextCursor)} />;
  }
  if (isFiltered(search) || search.cursor) {
    return (
      <Empty icon={<IconWebhook aria-hidden />} title={text.noMatch} description={text.noMatchHint}>
        <ClearFilters
          onClear={() => void navigate({ search: present({ replay: search.replay }) })}
        />
      </Empty>
    );
  }
  return (
    <Empty icon={<IconWebhook aria-hidden />} title={text.noneYet} description={text.noneYetHint} />
  );
}
