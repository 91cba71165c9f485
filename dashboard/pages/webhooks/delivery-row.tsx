import { Badge, Checkbox, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { WebhookDelivery } from "#contract";
import { formatDuration } from "../../format.ts";
import { receiverName } from "../../receiver-name.ts";
import { answerInWords, webhooksText as text } from "../../text/webhooks.ts";
import { TextLink } from "../../ui/link.tsx";
import { type Column } from "../../ui/listing.tsx";
import { Time } from "../../ui/time.tsx";
import { useNextAttempt } from "./next-attempt.ts";

const DELIVERY_COLOR: Record<WebhookDelivery["state"], string> = {
  waiting: "gray",
  retrying: "yellow",
  delivered: "teal",
  exhausted: "red",
  gone: "orange",
  forbidden: "red",
};

export function DeliveryState({ state }: { state: WebhookDelivery["state"] }) {
  return (
    <Badge variant="dot" color={DELIVERY_COLOR[state]}>
      {text.states[state]}
    </Badge>
  );
}

function DeliveryLink({ row, children }: { row: WebhookDelivery; children: ReactNode }) {
  return (
    <TextLink
      from="/webhooks"
      to="/webhooks"
      search={(old) => ({ ...old, id: row.deliveryId })}
      resetScroll={false}
      underline="never"
      aria-label={`${text.open}: ${text.states[row.state]}, ${row.event}, ${receiverName(row.host)}`}
    >
      {children}
    </TextLink>
  );
}

type Selection = {
  rows: WebhookDelivery[] | undefined;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
};

export function selectColumn({
  rows = [],
  selected,
  onSelect,
}: Selection): Column<WebhookDelivery> {
  const onPage = rows.filter(({ isReplayable }) => isReplayable).map(idOf);
  const isAll = onPage.length > 0 && onPage.every((id) => selected.has(id));
  const isSome = onPage.some((id) => selected.has(id));
  const set = (ids: string[], isTicked: boolean) => {
    const next = new Set(selected);
    for (const id of ids) {
      if (isTicked) next.add(id);
      else next.delete(id);
    }
    onSelect(next);
  };
  return {
    name: "select",
    header: (
      <Checkbox
        aria-label={text.selectPage}
        checked={isAll}
        indeterminate={isSome && !isAll}
        disabled={onPage.length === 0}
        onChange={() => set(onPage, !isAll)}
      />
    ),
    cell: (row) => (
      <Checkbox
        aria-label={text.select(row.event, receiverName(row.host))}
        checked={selected.has(row.deliveryId)}
        disabled={!row.isReplayable}
        onChange={(event) => set([row.deliveryId], event.currentTarget.checked)}
      />
    ),
  };
}

const idOf = ({ deliveryId }: WebhookDelivery) => deliveryId;

export const COLUMNS: Column<WebhookDelivery>[] = [
  {
    name: "state",
    header: text.columns.state,
    cell: (row) => (
      <Stack gap={0}>
        <DeliveryLink row={row}>
          <DeliveryState state={row.state} />
        </DeliveryLink>
        <NextAttempt row={row} />
      </Stack>
    ),
  },
  { name: "event", header: text.columns.event, cell: ({ event }) => <code>{event}</code> },
  { name: "host", header: text.columns.host, isName: true, cell: ({ host }) => receiverName(host) },
  {
    name: "message",
    header: text.columns.message,
    from: 1280,
    cell: ({ messageId }) => (
      <TextLink to="/messages/$messageId" params={{ messageId }} className="mono">
        …{messageId.slice(-12)}
      </TextLink>
    ),
  },
  {
    name: "http",
    header: text.columns.http,
    cell: ({ lastHttpStatus, attempts }) => lastHttpStatus ?? (attempts > 0 ? text.noAnswer : ""),
  },
  {
    name: "attempts",
    header: text.columns.attempts,
    from: 1280,
    cell: ({ attempts, maxAttempts }) => text.attemptsOf(attempts, maxAttempts),
  },
  {
    name: "duration",
    header: text.columns.duration,
    from: 1440,
    isNumber: true,
    cell: ({ durationMs }) => (durationMs === null ? "" : formatDuration(durationMs)),
  },
  { name: "created", header: text.columns.created, cell: (row) => <Time at={row.createdAt} /> },
];

function NextAttempt({ row }: { row: WebhookDelivery }) {
  const when = useNextAttempt(row);
  if (when === undefined) return null;
  return (
    <Text span size="xs" c="dimmed">
      {when}
    </Text>
  );
}

type CompactProps = {
  row: WebhookDelivery;
  /** The checkbox that selects the row. */
  tick: ReactNode;
};

export function CompactDelivery({ row, tick }: CompactProps) {
  return (
    <Stack gap={4}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="xs">
        <Group gap="xs">
          {tick}
          <DeliveryLink row={row}>
            <DeliveryState state={row.state} />
          </DeliveryLink>
          <NextAttempt row={row} />
        </Group>
        <Text span size="sm">
          <Time at={row.createdAt} />
        </Text>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Text span size="sm" className="mono">
          {row.event}
        </Text>
        <Text span size="sm" truncate flex={1}>
          {receiverName(row.host)}
        </Text>
        {row.attempts > 0 && (
          <Text span size="sm" flex="none">
            {answerInWords(row.lastHttpStatus)}
          </Text>
        )}
      </Group>
    </Stack>
  );
}
