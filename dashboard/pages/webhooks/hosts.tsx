import { Badge, Group, Stack, Text, Tooltip } from "@mantine/core";
import { IconWorldWww } from "@tabler/icons-react";
import type { Answer } from "../../api.ts";
import { formatDuration, formatNumber, formatRate } from "../../format.ts";
import { useAccount } from "../../session.ts";
import { hostsText as text } from "../../text/webhooks.ts";
import { words } from "../../text/words.ts";
import { Empty } from "../../ui/empty.tsx";
import { type Column, CompactFacts, Listing } from "../../ui/listing.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";

type Host = Answer<"GET /console/accounts/{accountId}/webhook-hosts">["data"][number];

/** Each receiver with how it fares. */
export function Hosts() {
  const { accountId } = useAccount();
  const hosts = useRead("GET /console/accounts/{accountId}/webhook-hosts", {
    params: { accountId },
  });
  return (
    <Listing
      label={text.title}
      columns={COLUMNS}
      rows={hosts.data?.data}
      rowId={({ host }) => host}
      failure={hosts.failure}
      onRetry={hosts.retry}
      empty={
        <Empty
          icon={<IconWorldWww aria-hidden />}
          title={text.noneYet}
          description={text.noneYetHint}
        />
      }
      compact={(row) => (
        <Stack gap={4}>
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <Text span size="sm" truncate>
              {row.host}
            </Text>
            <Health row={row} />
          </Group>
          <Group justify="space-between">
            <Text span size="sm" c="dimmed">
              {text.columns.rate}: <Rate row={row} />
            </Text>
            <Text span size="sm">
              {row.p95Ms === null ? "" : `${text.columns.p95} ${formatDuration(row.p95Ms)}`}
            </Text>
          </Group>
          <CompactFacts row={row} columns={COLUMNS} names={["waiting", "lastSuccess"]} />
        </Stack>
      )}
    />
  );
}

const HEALTH_COLOR: Record<Host["health"], string> = {
  proven: "teal",
  unproven: "gray",
  failing: "red",
  slow: "yellow",
  open: "red",
};

function Health({ row }: { row: Host }) {
  return (
    <Badge variant="dot" color={HEALTH_COLOR[row.health]}>
      {text.health[row.health]}
    </Badge>
  );
}

function Rate({ row: { succeeded, failed } }: { row: Host }) {
  const all = succeeded + failed;
  return (
    <Tooltip label={text.counts(formatNumber(succeeded), formatNumber(all))}>
      <Text span size="sm" tabIndex={0}>
        {formatRate(succeeded, all) ?? text.notEnough}
      </Text>
    </Tooltip>
  );
}

const COLUMNS: Column<Host>[] = [
  { name: "host", header: text.columns.host, isLong: true, cell: ({ host }) => host },
  { name: "health", header: text.columns.health, cell: (row) => <Health row={row} /> },
  { name: "rate", header: text.columns.rate, cell: (row) => <Rate row={row} /> },
  {
    name: "p95",
    header: text.columns.p95,
    isNumber: true,
    cell: ({ p95Ms }) => (p95Ms === null ? "" : formatDuration(p95Ms)),
  },
  {
    name: "waiting",
    header: text.columns.waiting,
    isNumber: true,
    cell: ({ waiting }) => formatNumber(waiting),
  },
  {
    name: "lastSuccess",
    header: text.columns.lastSuccess,
    cell: ({ lastSuccessAt }) => (lastSuccessAt ? <Time at={lastSuccessAt} /> : words.never),
  },
];
