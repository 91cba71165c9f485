import { Code, DataList, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconRepeat, IconWebhookOff } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, call, newIdempotencyKey } from "../../api.ts";
import { useAccount, useDenial } from "../../session.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { CopyIcon } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FailureLine, FailurePanel } from "../../ui/failure-panel.tsx";
import { TextLink } from "../../ui/link.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { DeliveryState } from "./delivery-row.tsx";
import { Exchange } from "./exchange.tsx";
import classes from "./exchange.module.css";
import { useNextAttempt } from "./next-attempt.ts";
import { SideSheet } from "../../ui/dialog.tsx";

const DETAIL = "GET /console/accounts/{accountId}/webhook-deliveries/{deliveryId}";
type Detail = Answer<typeof DETAIL>;

/** One event to one address: its exact body and every attempt. */
export function DeliveryDrawer({
  deliveryId,
  onClose,
}: {
  deliveryId: string;
  onClose: () => void;
}) {
  const { accountId } = useAccount();
  const delivery = useRead(DETAIL, { params: { accountId, deliveryId } });
  const { data, failure } = delivery;
  return (
    <SideSheet onClose={onClose} title={text.drawer}>
      {data ? (
        <DeliveryDetail key={data.deliveryId} delivery={data} />
      ) : failure?.status === 404 ? (
        <Empty icon={<IconWebhookOff aria-hidden />} title={text.notFound} />
      ) : failure ? (
        <FailurePanel failure={failure} onRetry={delivery.retry} />
      ) : (
        <Skeleton height={400} />
      )}
    </SideSheet>
  );
}

function DeliveryDetail({ delivery }: { delivery: Detail }) {
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Group gap="xs">
          <DeliveryState state={delivery.state} />
          <code>{delivery.event}</code>
        </Group>
        <ReplayOne delivery={delivery} />
      </Group>
      <Text size="sm" c="dimmed">
        {text.stateMeaning[delivery.state]}
      </Text>
      <NextAttempt delivery={delivery} />
      <Facts delivery={delivery} />
      <div>
        <Title order={2} size="h5" mb="xs">
          {text.body}
        </Title>
        {delivery.body === null ? (
          <Text size="sm" c="dimmed">
            {text.bodyWithheld}
          </Text>
        ) : (
          <Code block tabIndex={0} className={classes["body"]} data-body>
            {delivery.body}
          </Code>
        )}
      </div>
      <Title order={2} size="h5">
        {text.attempts}
      </Title>
      {delivery.exchanges.length === 0 && <Text size="sm">{text.noAttempts}</Text>}
      {delivery.exchanges.toReversed().map((exchange, index) => (
        <Exchange key={exchange.attempt} exchange={exchange} isOpen={index === 0} />
      ))}
    </Stack>
  );
}

function NextAttempt({ delivery }: { delivery: Detail }) {
  const when = useNextAttempt(delivery);
  const { nextAttemptAt, attempts, maxAttempts } = delivery;
  if (when === undefined) return null;
  return (
    <Text size="sm" fw={550}>
      {text.nextAttempt(text.attemptsOf(attempts + 1, maxAttempts), when)}
      {nextAttemptAt !== null && (
        <>
          {" "}
          <span style={{ whiteSpace: "nowrap" }}>
            (<Time at={nextAttemptAt} />)
          </span>
        </>
      )}
    </Text>
  );
}

function Facts({ delivery }: { delivery: Detail }) {
  const { messageId } = delivery;
  const rows: [label: string, value: React.ReactNode][] = [
    [
      text.address,
      <span key="url" className={classes["body"]}>
        {delivery.url}
      </span>,
    ],
    [
      text.messageId,
      <TextLink key="message" to="/messages/$messageId" params={{ messageId }}>
        <code>{messageId}</code>
      </TextLink>,
    ],
    [
      text.eventId,
      <Group key="event" gap={4} wrap="nowrap">
        <code>{delivery.eventId}</code>
        <CopyIcon text={delivery.eventId} label={text.copyId} />
      </Group>,
    ],
    [text.sequence, String(delivery.sequence)],
  ];
  return (
    <DataList labelWidth="7rem">
      {rows.map(([label, value]) => (
        <DataList.Item key={label}>
          <DataList.ItemLabel>{label}</DataList.ItemLabel>
          <DataList.ItemValue>{value}</DataList.ItemValue>
        </DataList.Item>
      ))}
    </DataList>
  );
}

function ReplayOne({ delivery }: { delivery: Detail }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const denial = useDenial("developer");
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const { deliveryId } = delivery;
  const replay = useAction(async () => {
    await call(
      "POST /console/accounts/{accountId}/webhook-deliveries/{deliveryId}/replay",
      { params: { accountId, deliveryId } },
      { idempotencyKey },
    );
    setIdempotencyKey(newIdempotencyKey());
    toast({ title: text.replayed, message: text.replayedHint });
    askAgain(client, [DETAIL, "GET /console/accounts/{accountId}/webhook-deliveries"]);
  });
  return (
    <Stack gap="xs">
      <RowButton
        reason={denial ?? (delivery.isReplayable ? undefined : text.notReplayable)}
        loading={replay.isRunning}
        leftSection={<IconRepeat size={14} aria-hidden />}
        onClick={() => void replay.run(undefined)}
      >
        {text.replay}
      </RowButton>
      {replay.failure && <FailureLine failure={replay.failure} />}
    </Stack>
  );
}
