import { Group, Stack, Text, Timeline } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconCircleDot, IconClock, IconX } from "@tabler/icons-react";
import { formatDuration } from "../../format.ts";
import { timelineText as text } from "../../text/message.ts";
import { STATUS_COLOR } from "../../theme.ts";
import { Time } from "../../ui/time.tsx";
import { useZone } from "../../ui/zone.tsx";
import { type Step, tellsDay, type Tone } from "./story.ts";
import { WebhookAttempts } from "./webhook-attempts.tsx";

/** The last step has the colour of the message's status. */
const LOOKS: Record<Tone, { color: string; Icon: typeof IconCheck }> = {
  plain: { color: "blue", Icon: IconCircleDot },
  good: { color: STATUS_COLOR.DELIVERED, Icon: IconCheck },
  undelivered: { color: STATUS_COLOR.UNDELIVERED, Icon: IconX },
  bad: { color: STATUS_COLOR.FAILED, Icon: IconX },
  doubt: { color: "orange", Icon: IconAlertTriangle },
  quiet: { color: "gray", Icon: IconClock },
};

/** What happened to a message, oldest first, and what it waits for. */
export function MessageTimeline({ steps, waitsFor }: { steps: Step[]; waitsFor?: string }) {
  const zone = useZone();
  return (
    <Timeline bulletSize={22} lineWidth={2} active={steps.length}>
      {steps.map((step, index) => (
        <TimelineStep key={step.key} step={step} hasDay={tellsDay(steps, index, zone)} />
      ))}
      {waitsFor && (
        <Timeline.Item
          bullet={<IconClock size={13} aria-hidden />}
          title={<Text size="sm">{waitsFor}</Text>}
        />
      )}
    </Timeline>
  );
}

function TimelineStep({ step, hasDay, ...rest }: { step: Step; hasDay: boolean }) {
  const { tone, title, at, sinceMs, lines, webhook } = step;
  const { color, Icon } = LOOKS[tone];
  return (
    <Timeline.Item
      {...rest}
      color={color}
      bullet={<Icon size={13} aria-hidden />}
      title={
        <Text size="sm" fw={550}>
          {title}
        </Text>
      }
    >
      <Stack gap={2}>
        <Group gap="xs">
          <Text span size="xs" c="dimmed">
            <Time at={at} form={hasDay ? "dayClock" : "clock"} />
          </Text>
          {sinceMs !== undefined && (
            <Text span size="xs" c="dimmed">
              {text.after(formatDuration(sinceMs))}
            </Text>
          )}
        </Group>
        {lines.map((line) => (
          <Text key={line} size="xs">
            {line}
          </Text>
        ))}
        {webhook && <WebhookAttempts webhook={webhook} eventAt={at} />}
      </Stack>
    </Timeline.Item>
  );
}
