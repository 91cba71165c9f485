import { Badge, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Answer } from "../../api.ts";
import { formatCounted } from "../../format.ts";
import { queueText as text } from "../../text/operator.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";

type Queue = Answer<"GET /console/operator/queue">;
type Node = Answer<"GET /console/operator/nodes">["data"][number];

export function QueuePage() {
  return (
    <Stack gap="lg">
      <QueuePart />
      <Nodes />
    </Stack>
  );
}

function QueuePart() {
  const queue = useRead("GET /console/operator/queue", {});
  const { data } = queue;
  if (queue.failure && !data) return <FailurePanel failure={queue.failure} onRetry={queue.retry} />;
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Figure label={text.waiting}>{data && counted(data)}</Figure>
        <Figure label={text.scheduled}>{data && countedLater(data)}</Figure>
        <Figure label={text.oldest}>
          {data?.oldestDueAt ? (
            <Time at={data.oldestDueAt} form="relative" />
          ) : (
            data && (data.waiting > 0 ? text.inHand : text.nothing)
          )}
        </Figure>
        <Figure label={text.webhooks}>{data && counted(data.webhooks)}</Figure>
      </SimpleGrid>
      <Title order={2} size="h5">
        {text.perAccount}
      </Title>
      <Listing
        label={text.perAccount}
        columns={ACCOUNT_COLUMNS}
        list={{ ...queue, data: data && { data: data.accounts } }}
        rowId={({ accountId }) => accountId}
        empty={<Text size="sm">{text.nobody}</Text>}
        compact={(account) => (
          <Group justify="space-between">
            <Text span size="sm" miw={0}>
              {account.name}
            </Text>
            <Text span size="sm">
              {text.waiting}: <strong>{counted(account)}</strong> · {text.scheduled}:{" "}
              <strong>{countedLater(account)}</strong>
            </Text>
          </Group>
        )}
      />
    </Stack>
  );
}

function counted({ waiting, isMore }: { waiting: number; isMore: boolean }): string {
  return formatCounted(waiting, isMore);
}

type Later = { scheduled: number; isMore: boolean };

function countedLater({ scheduled, isMore }: Later): string {
  return formatCounted(scheduled, isMore);
}

function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" mih={86}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fz="xl" fw={650} component="div">
        {children ?? "…"}
      </Text>
    </Paper>
  );
}

const ACCOUNT_COLUMNS: Column<Queue["accounts"][number]>[] = [
  { name: "name", header: text.account, isName: true, cell: ({ name }) => name },
  {
    name: "waiting",
    header: text.waiting,
    isNumber: true,
    cell: counted,
  },
  {
    name: "scheduled",
    header: text.scheduled,
    isNumber: true,
    cell: countedLater,
  },
  {
    name: "oldest",
    header: text.oldest,
    cell: ({ oldestDueAt }) => (oldestDueAt ? <Time at={oldestDueAt} form="relative" /> : "–"),
  },
];

function Nodes() {
  const nodes = useRead("GET /console/operator/nodes", {});
  return (
    <Stack gap="md">
      <Title order={2} size="h5">
        {text.nodes}
      </Title>
      <Listing
        label={text.nodes}
        columns={NODE_COLUMNS}
        list={nodes}
        rowId={({ nodeId }) => nodeId}
        empty={null}
        compact={(node) => (
          <Stack gap={4}>
            <Group justify="space-between">
              <Text span size="sm" miw={0}>
                {node.hostname}
              </Text>
              <NodeState node={node} />
            </Group>
            <Text span size="xs" c="dimmed">
              {node.roles.join(", ")} · {text.heartbeat} <Time at={node.heardAt} form="relative" />
            </Text>
          </Stack>
        )}
      />
    </Stack>
  );
}

function NodeState({ node: { isStale } }: { node: Node }) {
  return (
    <Badge variant="dot" color={isStale ? "red" : "teal"}>
      {isStale ? text.stale : text.alive}
    </Badge>
  );
}

const NODE_COLUMNS: Column<Node>[] = [
  { name: "host", header: text.host, cell: ({ hostname }) => hostname },
  { name: "state", header: text.state, cell: (node) => <NodeState node={node} /> },
  { name: "roles", header: text.roles, cell: ({ roles }) => roles.join(", ") },
  { name: "version", header: text.version, cell: ({ softwareVersion }) => softwareVersion },
  {
    name: "started",
    header: text.started,
    cell: ({ startedAt }) => <Time at={startedAt} form="relative" />,
  },
  {
    name: "heartbeat",
    header: text.heartbeat,
    cell: ({ heardAt }) => <Time at={heardAt} form="relative" />,
  },
];
