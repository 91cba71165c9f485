import { Badge, Group, Stack, Text, Tooltip } from "@mantine/core";
import { IconWorldWww } from "@tabler/icons-react";
import { formatCounted, formatDuration, formatNumber, formatRate } from "../../format.ts";
import { receiverName } from "../../receiver-name.ts";
import { useAccount } from "../../session.ts";
import { hostsText as text, type ReceiverHealth } from "../../text/webhooks.ts";
import { words } from "../../text/words.ts";
import { Empty } from "../../ui/empty.tsx";
import { TextLink } from "../../ui/link.tsx";
import { type Column, CompactFacts, Listing } from "../../ui/listing.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";
import { healthOf, type Receiver } from "./receiver-health.ts";

/** Each receiver with its health. */
export function Hosts() {
  const { accountId } = useAccount();
  const hosts = useRead("GET /console/accounts/{accountId}/webhook-hosts", {
    params: { accountId },
  });
  return (
    <Listing
      label={text.title}
      columns={COLUMNS}
      list={hosts}
      rowId={({ host }) => host}
      empty={
        <Empty
          icon={<IconWorldWww aria-hidden />}
          title={text.noneYet}
          description={text.noneYetHint}
        />
      }
      compact={(row) => (
        <Stack gap={4}>
          <Group justify="space-between" wrap="nowrap" gap="xs" align="flex-start">
            <Text span size="sm" miw={0} style={{ overflowWrap: "anywhere" }}>
              {receiverName(row.host)}
            </Text>
            <Health row={row} align="flex-end" />
          </Group>
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <Text span size="sm" c="dimmed">
              {text.columns.rate}: <Rate row={row} />
            </Text>
            <Text span size="sm" flex="none">
              {row.p95Ms === null ? "" : `${text.columns.p95} ${formatDuration(row.p95Ms)}`}
            </Text>
          </Group>
          <CompactFacts row={row} columns={COLUMNS} names={["waiting", "lastSuccess"]} />
        </Stack>
      )}
    />
  );
}

const HEALTH_COLOR: Record<ReceiverHealth, string> = {
  healthy: "teal",
  unsteady: "yellow",
  failing: "orange",
  down: "red",
  idle: "gray",
};

function Health({ row, align }: { row: Receiver; align: "flex-start" | "flex-end" }) {
  const health = healthOf(row);
  return (
    <Stack gap={0} align={align} flex="none">
      <Badge variant="dot" color={HEALTH_COLOR[health]}>
        {text.health[health]}
      </Badge>
      {health !== "idle" && (
        <Text span size="xs" c="dimmed">
          {text.limits[row.health]}
        </Text>
      )}
    </Stack>
  );
}

function Waiting({ row: { host, waiting, isMore } }: { row: Receiver }) {
  if (waiting === 0) return formatNumber(0);
  return (
    <TextLink to="/webhooks" search={{ host, state: ["waiting", "retrying"] }}>
      {formatCounted(waiting, isMore)}
    </TextLink>
  );
}

function Rate({ row: { succeeded, failed } }: { row: Receiver }) {
  const all = succeeded + failed;
  return (
    <Tooltip label={text.counts(formatNumber(succeeded), formatNumber(all))}>
      <Text span size="sm" tabIndex={0}>
        {formatRate(succeeded, all) ?? text.notEnough}
      </Text>
    </Tooltip>
  );
}

const COLUMNS: Column<Receiver>[] = [
  { name: "host", header: text.columns.host, isName: true, cell: ({ host }) => receiverName(host) },
  {
    name: "health",
    header: text.columns.health,
    cell: (row) => <Health row={row} align="flex-start" />,
  },
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
    cell: (row) => <Waiting row={row} />,
  },
  {
    name: "lastSuccess",
    header: text.columns.lastSuccess,
    cell: ({ lastSuccessAt }) =>
      lastSuccessAt ? <Time at={lastSuccessAt} form="relative" /> : words.never,
  },
];
