import { Group, Text } from "@mantine/core";
import { formatDuration, isSameDay } from "../../format.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { AnswerBadge } from "../../ui/answer-badge.tsx";
import { TextLink } from "../../ui/link.tsx";
import { Time } from "../../ui/time.tsx";
import { useZone } from "../../ui/zone.tsx";
import type { ToldWebhook } from "./story.ts";

type Props = {
  webhook: ToldWebhook;
  /** The time of the event: attempts on the same day leave out the day. */
  eventAt: string;
};

/** A link to everything kept of the delivery, and below it a line for each attempt. */
export function WebhookAttempts({ webhook, eventAt }: Props) {
  const { eventId, title, attempts } = webhook;
  const zone = useZone();
  return (
    <>
      <Text size="xs">
        <TextLink to="/webhooks" search={{ id: eventId }} fz="inherit">
          {title}
        </TextLink>
      </Text>
      {attempts.map(({ attempt, at, httpStatus, durationMs }) => (
        <Group key={attempt} gap="xs" style={{ fontVariantNumeric: "tabular-nums" }}>
          <Text span size="xs">
            {text.attempt(attempt)}
          </Text>
          <AnswerBadge httpStatus={httpStatus} />
          <Text span size="xs" c="dimmed">
            <Time at={at} form={isSameDay(at, eventAt, zone) ? "clock" : "dayClock"} />
          </Text>
          <Text span size="xs" c="dimmed">
            {formatDuration(durationMs)}
          </Text>
        </Group>
      ))}
    </>
  );
}
