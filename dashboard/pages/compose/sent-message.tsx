import { Group, Paper, Skeleton, Stack, Text } from "@mantine/core";
import { composeText as text } from "../../text/compose.ts";
import { messagesText } from "../../text/messages.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { ButtonLink } from "../../ui/link.tsx";
import { SegmentRuler } from "../../ui/segment-ruler.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { CancelButton } from "../message/message-actions.tsx";
import { Story, useMessage } from "../message/message-view.tsx";

/** The message just sent, with its timeline updating live. */
export function SentMessage({ messageId }: { messageId: string }) {
  const sent = useMessage(messageId);
  const { data, failure } = sent;
  if (failure && !data) return <FailurePanel failure={failure} onRetry={sent.retry} />;
  if (!data) return <Skeleton height={320} />;
  const { message } = data;
  return (
    <Stack gap="lg" maw="46rem">
      <Group justify="space-between">
        <Group gap="sm">
          <StatusBadge status={message.status} />
          <Text fw={550}>{text.sentTo(message.recipient)}</Text>
        </Group>
        <Group gap="xs">
          <ButtonLink to="/compose" search={{}} autoFocus>
            {text.writeAnother}
          </ButtonLink>
          <ButtonLink to="/messages/$messageId" params={{ messageId }} variant="default">
            {messagesText.openPage}
          </ButtonLink>
          {/* Not for a message sent at once: the button would vanish before anyone pressed it. */}
          {message.sendAt !== null && <CancelButton shown={data} />}
        </Group>
      </Group>
      <SegmentRuler text={message.text ?? ""} encoding={message.encoding} />
      <Paper withBorder p="md">
        <Story shown={data} />
      </Paper>
    </Stack>
  );
}
