import { Group, Text } from "@mantine/core";
import { formatDuration } from "../../format.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { AnswerBadge } from "../../ui/answer-badge.tsx";
import { TextLink } from "../../ui/link.tsx";
import { Time } from "../../ui/time.tsx";
import type { Webhook } from "./story.ts";

/** A line for each attempt, which leads to all that is kept of it. */
export function WebhookAttempts({ webhook: { eventId, attempts } }: { webhook: Webhook }) {
  return attempts.map(({ attempt, at, httpStatus, durationMs }) => (
    <Group key={attempt} gap="xs">
      <Text span size="xs">
        <TextLink to="/webhooks" search={{ id: eventId }}>
          {text.attempt(attempt)}
        </TextLink>
      </Text>
      <AnswerBadge httpStatus={httpStatus} />
      <Text span size="xs" c="dimmed">
        <Time at={at} form="clock" />
      </Text>
      <Text span size="xs" c="dimmed">
        {formatDuration(durationMs)}
      </Text>
    </Group>
  ));
}
