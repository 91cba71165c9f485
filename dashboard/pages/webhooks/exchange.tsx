import { Code, Group, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import type { Exchange as ExchangeData } from "#contract";
import { formatDuration } from "../../format.ts";
import { useDenial } from "../../session.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { AnswerBadge } from "../../ui/answer-badge.tsx";
import { Time } from "../../ui/time.tsx";
import classes from "./exchange.module.css";

type Props = {
  exchange: ExchangeData;
  /** Whether the answer is open at first. After that, only the reader opens and closes it. */
  isOpen: boolean;
};

/** One POST: what was sent, what came back, and the time of each step. All is plain text. */
export function Exchange({ exchange, isOpen }: Props) {
  const { attempt, at, httpStatus, error, address, requestHeaders } = exchange;
  const isSigned = requestHeaders.some(({ name }) => name === "webhook-signature");
  return (
    <section className={classes["exchange"]} aria-label={text.attempt(attempt)}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <Title order={3} size="h6">
            {text.attempt(attempt)}
          </Title>
          <AnswerBadge httpStatus={httpStatus} />
        </Group>
        <Text span size="sm" c="dimmed">
          <Time at={at} />
        </Text>
      </Group>
      {error && (
        <Text size="sm" mt="xs">
          {error}
        </Text>
      )}
      {address && (
        <Text size="xs" c="dimmed" mt={4}>
          {text.calledAddress(address)}
        </Text>
      )}
      <Timings exchange={exchange} />
      <details className={classes["details"]}>
        <summary>{text.request}</summary>
        <Headers headers={requestHeaders} />
        {!isSigned && (
          <Text size="xs" c="dimmed">
            {text.signatureNote}
          </Text>
        )}
      </details>
      <Answer exchange={exchange} isOpen={isOpen} />
    </section>
  );
}

function Answer({ exchange: { httpStatus, responseHeaders, responseBody }, isOpen }: Props) {
  const [opens] = useState(isOpen);
  const isMasked = useDenial("developer") !== undefined;
  const hidden = isMasked ? text.maskedAnswer : text.hiddenAnswer;
  if (httpStatus === null) return null;
  return (
    <details className={classes["details"]} open={opens}>
      <summary>{text.answer}</summary>
      <Stack gap="xs">
        {responseHeaders.length > 0 && <Headers headers={responseHeaders} />}
        {responseBody ? (
          <Code block tabIndex={0} className={classes["body"]}>
            {responseBody}
          </Code>
        ) : (
          <Text size="sm" c="dimmed">
            {responseBody === null ? hidden : text.emptyAnswer}
          </Text>
        )}
      </Stack>
    </details>
  );
}

function Headers({ headers }: { headers: { name: string; value: string }[] }) {
  return (
    <div className={classes["headers"]}>
      <Table withRowBorders={false} verticalSpacing={2} fz="xs">
        <Table.Tbody>
          {headers.map(({ name, value }, index) => (
            <Table.Tr key={`${name} ${index}`}>
              <Table.Th scope="row" fw={500}>
                <span className={classes["name"]}>{name}</span>
              </Table.Th>
              <Table.Td>
                <code>{value}</code>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

/** No colour that stands for an outcome: the answer shows that. */
const STEPS = [
  { name: "dnsMs", color: "blue.7" },
  { name: "connectMs", color: "violet.7" },
  { name: "tlsMs", color: "grape.7" },
  { name: "firstByteMs", color: "gray.6" },
] as const;

/** The steps side by side, as wide as they took; the numbers are below, not only colours. */
function Timings({ exchange: { timings } }: { exchange: ExchangeData }) {
  const total = Math.max(1, timings.totalMs);
  const known = STEPS.filter(({ name }) => timings[name] !== null);
  const { dnsMs, connectMs, tlsMs, firstByteMs } = timings;
  // The time of the first byte includes the earlier steps; the bar shows only the wait.
  const waitedMs = (firstByteMs ?? 0) - (dnsMs ?? 0) - (connectMs ?? 0) - (tlsMs ?? 0);
  const lengthOf = (name: (typeof STEPS)[number]["name"]) =>
    Math.max(0, name === "firstByteMs" ? waitedMs : (timings[name] ?? 0));
  return (
    <Stack gap={4} mt="sm">
      <Progress.Root size="sm" aria-hidden>
        {known.map(({ name, color }) => (
          <Progress.Section
            key={name}
            value={Math.min(100, (lengthOf(name) / total) * 100)}
            color={color}
          />
        ))}
      </Progress.Root>
      <Group gap="md">
        {known.map(({ name }) => (
          <Text key={name} span size="xs">
            {text.timings[name]} {formatDuration(timings[name] ?? 0)}
          </Text>
        ))}
        <Text span size="xs" fw={600}>
          {text.timings.totalMs} {formatDuration(timings.totalMs)}
        </Text>
      </Group>
    </Stack>
  );
}
