import { Group, Skeleton, Stack } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useState } from "react";
import { messageText } from "../../text/message.ts";
import { messagesText as text } from "../../text/messages.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { ButtonLink } from "../../ui/link.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { NoSuchMessage } from "../message.tsx";
import { MessageActions } from "../message/message-actions.tsx";
import { MessageView, useMessage, type View } from "../message/message-view.tsx";
import { SideSheet } from "../../ui/dialog.tsx";

/** A message beside the list; Esc returns the focus to its row. */
export function MessageDrawer({ messageId, onClose }: { messageId: string; onClose: () => void }) {
  const [view, setView] = useState<View>("story");
  const message = useMessage(messageId);
  const { data, failure } = message;
  const title = data ? messageText.titleOf(data.message.recipient) : messageText.title;
  return (
    <SideSheet onClose={onClose} title={title}>
      {data ? (
        <Stack gap="md">
          <Group>
            <StatusBadge status={data.message.status} />
          </Group>
          <Group gap="xs">
            <MessageActions shown={data} />
            <ButtonLink
              to="/messages/$messageId"
              params={{ messageId }}
              variant="default"
              leftSection={<IconExternalLink size={16} aria-hidden />}
            >
              {text.openPage}
            </ButtonLink>
          </Group>
          <MessageView shown={data} view={view} onView={setView} isNarrow />
        </Stack>
      ) : failure?.status === 404 ? (
        <NoSuchMessage />
      ) : failure ? (
        <FailurePanel failure={failure} onRetry={message.retry} />
      ) : (
        <Skeleton height={400} />
      )}
    </SideSheet>
  );
}
