import { Group, Skeleton } from "@mantine/core";
import { IconMessageOff } from "@tabler/icons-react";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useAccount } from "../session.ts";
import { messageText as text } from "../text/message.ts";
import { Empty } from "../ui/empty.tsx";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { StatusBadge } from "../ui/status-badge.tsx";
import { MessageActions } from "./message/message-actions.tsx";
import { MessageView, useMessage } from "./message/message-view.tsx";

export function MessagePage() {
  const account = useAccount();
  const { messageId } = useParams({ from: "/signed-in/messages/$messageId" });
  const { tab } = useSearch({ from: "/signed-in/messages/$messageId" });
  const navigate = useNavigate({ from: "/messages/$messageId" });
  const message = useMessage(messageId);
  const { data, failure } = message;
  return (
    <Page
      title={data ? text.titleOf(data.message.recipient) : text.title}
      about={account.name}
      lead={data && <StatusBadge status={data.message.status} />}
      hasTimes={data !== undefined}
      actions={data && <MessageActions shown={data} />}
    >
      {data ? (
        <MessageView
          shown={data}
          view={tab ?? "story"}
          onView={(view) =>
            void navigate({ search: view === "json" ? { tab: view } : {}, resetScroll: false })
          }
        />
      ) : failure ? (
        failure.status === 404 ? (
          <NoSuchMessage />
        ) : (
          <FailurePanel failure={failure} onRetry={message.retry} />
        )
      ) : (
        <Skeleton height={480} />
      )}
    </Page>
  );
}

export function NoSuchMessage() {
  return (
    <Empty
      icon={<IconMessageOff aria-hidden />}
      title={text.notFound}
      description={text.notFoundHint}
    >
      <Group justify="center">
        <ButtonLink to="/messages" variant="default">
          {text.searchMessages}
        </ButtonLink>
      </Group>
    </Empty>
  );
}
