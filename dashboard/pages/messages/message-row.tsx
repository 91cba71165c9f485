import { Group, Stack, Text } from "@mantine/core";
import type { ConsoleMessage } from "#contract";
import { useRelativeNow } from "../../clock.ts";
import { formatMinute, formatNumber, type Zone } from "../../format.ts";
import { messagesText as text } from "../../text/messages.ts";
import { words } from "../../text/words.ts";
import { TextLink } from "../../ui/link.tsx";
import { type Column } from "../../ui/listing.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { Time } from "../../ui/time.tsx";
import { useZone } from "../../ui/zone.tsx";

function MessageLink({ row, children }: { row: ConsoleMessage; children: React.ReactNode }) {
  return (
    <TextLink
      from="/messages"
      to="/messages"
      search={(old) => ({ ...old, id: row.message.messageId })}
      resetScroll={false}
      underline="never"
      aria-label={`${text.open}: ${row.message.status}, ${row.message.recipient}`}
    >
      {children}
    </TextLink>
  );
}

function FirstWords({ row }: { row: ConsoleMessage }) {
  if (row.message.text === null) {
    return (
      <Text span size="sm" c="dimmed" fs="italic">
        {text.withheld}
      </Text>
    );
  }
  // A block with its own direction, truncated at its end: the first words show in any language.
  return (
    <Text span inherit display="block" truncate dir="auto">
      {row.message.text.slice(0, 120)}
    </Text>
  );
}

/** The reason behind the badge: how the message ended, until when it waits, or for what. */
function Reason({ row }: { row: ConsoleMessage }) {
  const reason = reasonOf(row, useZone(), useRelativeNow());
  if (reason === undefined) return null;
  return (
    <Text span size="xs" c="dimmed">
      {reason}
    </Text>
  );
}

function reasonOf({ message, waitsFor }: ConsoleMessage, zone: Zone, now: number) {
  const { status, sendAt, error } = message;
  if (error) return text.reason(error.code);
  if (status !== "QUEUED") return undefined;
  if (sendAt !== null && Date.parse(sendAt) > now) return text.due(formatMinute(sendAt, zone));
  return waitsFor?.away ? text.carrierAway[waitsFor.away] : undefined;
}

/** The final cost: a refunded message costs nothing. */
function Credits({ row: { message } }: { row: ConsoleMessage }) {
  const { credits, creditsRefunded } = message;
  return (
    <Stack gap={2}>
      <span>{formatNumber(credits - creditsRefunded)}</span>
      {creditsRefunded > 0 && (
        <Text span size="xs" c="dimmed">
          {text.refunded(formatNumber(creditsRefunded))}
        </Text>
      )}
    </Stack>
  );
}

function Carrier({ row: { carrier, isSubmitted } }: { row: ConsoleMessage }) {
  if (!carrier) return words.none;
  if (isSubmitted) return carrier.name;
  return (
    <Text span size="xs" c="dimmed">
      {text.routedTo(carrier.name)}
    </Text>
  );
}

export const COLUMNS: Column<ConsoleMessage>[] = [
  {
    name: "status",
    header: text.columns.status,
    cell: (row) => (
      <Stack gap={2}>
        <MessageLink row={row}>
          <StatusBadge status={row.message.status} />
        </MessageLink>
        <Reason row={row} />
      </Stack>
    ),
  },
  {
    name: "recipient",
    header: text.columns.recipient,
    cell: (row) => <span className="mono">{row.message.recipient}</span>,
  },
  {
    name: "text",
    header: text.columns.text,
    isLong: true,
    cell: (row) => <FirstWords row={row} />,
  },
  {
    name: "segments",
    header: text.columns.segments,
    from: 1280,
    cell: ({ message }) =>
      text.segments(formatNumber(message.segments), text.encodings[message.encoding]),
  },
  {
    name: "credits",
    header: text.columns.credits,
    from: 1280,
    isNumber: true,
    cell: (row) => <Credits row={row} />,
  },
  {
    name: "carrier",
    header: text.columns.carrier,
    isLong: true,
    cell: (row) => <Carrier row={row} />,
  },
  {
    name: "created",
    header: text.columns.created,
    cell: ({ message }) => <Time at={message.createdAt} />,
  },
];

export function CompactMessage({ row }: { row: ConsoleMessage }) {
  return (
    <Stack gap={4}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="xs">
        <Group gap="xs">
          <MessageLink row={row}>
            <StatusBadge status={row.message.status} />
          </MessageLink>
          <Reason row={row} />
        </Group>
        <Text span size="sm">
          <Time at={row.message.createdAt} />
        </Text>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <span className="mono">{row.message.recipient}</span>
        <Text span size="sm" truncate>
          <FirstWords row={row} />
        </Text>
      </Group>
    </Stack>
  );
}
