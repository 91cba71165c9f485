import { Group, type MantineSize, Stack, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowRight } from "@tabler/icons-react";
import type { AuditEntry } from "#contract";
import { auditDetailsText, auditText as text, routingText } from "../../text/operator.ts";
import { CopyIcon } from "../../ui/copy-button.tsx";
import { TextLink } from "../../ui/link.tsx";
import { type Column, CompactFacts } from "../../ui/listing.tsx";
import { Time } from "../../ui/time.tsx";
import { actionInWords, type DetailLine, detailsInWords, type Telling } from "./audit-details.ts";
import classes from "./operator.module.css";

type Props = { entry: AuditEntry; telling: Telling };

/** An entry on a phone. */
export function CompactEntry({ entry, telling }: Props) {
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text span size="sm" fw={550}>
          {actionInWords(entry.action)}
        </Text>
        <Text span size="sm">
          <Time at={entry.at} />
        </Text>
      </Group>
      <Text size="sm">
        <Who entry={entry} />
        {entry.accountName && ` · ${entry.accountName}`}
        {entry.address && (
          <Text span size="xs" c="dimmed">
            {` · ${entry.address}`}
          </Text>
        )}
      </Text>
      <Details entry={entry} telling={telling} size="sm" />
      <CompactFacts row={entry} columns={entryColumns(telling)} names={["object", "requestId"]} />
    </Stack>
  );
}

export function entryColumns(telling: Telling): Column<AuditEntry>[] {
  return [
    ...COLUMNS,
    {
      name: "details",
      header: text.columns.details,
      isLong: true,
      cell: (entry) => <Details entry={entry} telling={telling} size="xs" />,
    },
    {
      name: "requestId",
      header: text.columns.requestId,
      from: 1280,
      cell: ({ requestId }) => requestId && <CopyIcon text={requestId} label={text.copyRequest} />,
    },
  ];
}

const COLUMNS: Column<AuditEntry>[] = [
  { name: "at", header: text.columns.at, cell: ({ at }) => <Time at={at} /> },
  {
    name: "actor",
    header: text.columns.actor,
    isName: true,
    cell: (entry) => (
      <Stack gap={0}>
        <Text span size="sm">
          <Who entry={entry} />
        </Text>
        <Text span size="xs" c="dimmed">
          {entry.address}
        </Text>
      </Stack>
    ),
  },
  {
    name: "action",
    header: text.columns.action,
    isName: true,
    cell: ({ action, accountName }) => (
      <Stack gap={0}>
        <Text span size="sm">
          {actionInWords(action)}
        </Text>
        <Text span size="xs" c="dimmed">
          <span className="mono">{action}</span>
          {accountName && ` · ${accountName}`}
        </Text>
      </Stack>
    ),
  },
  {
    name: "object",
    header: text.columns.object,
    cell: ({ objectId }) => objectId !== null && <Changed objectId={objectId} />,
  },
];

/** Links to everything else that this actor did; of a key, the log says only that it was one. */
function Who({ entry: { actor, actorId } }: { entry: AuditEntry }) {
  if (actor.kind === "key") return actor.name;
  const who = actor.kind === "user" ? `user:${actorId}` : actor.kind;
  return (
    <TextLink to="/operator/audit" search={{ actor: who }} underline="always">
      {actor.name}
    </TextLink>
  );
}

/** Longer than any prefix of numbers, and enough to tell ids apart. */
const SHOWN_OF_AN_ID = 8;

function Changed({ objectId }: { objectId: string }) {
  if (objectId === "") return routingText.anyNumber;
  const isShort = /^\d{1,15}$/.test(objectId);
  return (
    <Group gap={2} wrap="nowrap">
      <span className="mono">{isShort ? objectId : `…${objectId.slice(-SHOWN_OF_AN_ID)}`}</span>
      <CopyIcon text={objectId} label={text.copyObject} />
    </Group>
  );
}

function Details({ entry, telling, size }: Props & { size: MantineSize }) {
  const lines = detailsInWords(entry, telling);
  if (lines.length === 0) return null;
  return (
    <div className={classes["details"]}>
      {lines.map((line, index) => (
        <Text key={`${index} ${line.name}`} size={size} pl={line.depth * 12}>
          <Detail line={line} />
        </Text>
      ))}
    </div>
  );
}

function Detail({ line: { name, before, value } }: { line: DetailLine }) {
  return (
    <>
      <Text span inherit c="dimmed">
        {name}:
      </Text>{" "}
      {before !== undefined && (
        <>
          {before} <IconArrowRight size={12} aria-hidden className={classes["arrow"]} />
          <VisuallyHidden component="span">{auditDetailsText.to}</VisuallyHidden>{" "}
        </>
      )}
      {value}
    </>
  );
}
