import { Code, DataList, Group } from "@mantine/core";
import type { ReactNode } from "react";
import type { ConsoleMessage } from "#contract";
import { countOf, formatNumber } from "../../format.ts";
import { messageText as text } from "../../text/message.ts";
import { messagesText } from "../../text/messages.ts";
import { words } from "../../text/words.ts";
import { CopyIcon } from "../../ui/copy-button.tsx";
import { TextLink } from "../../ui/link.tsx";
import { Time } from "../../ui/time.tsx";
import classes from "./message-view.module.css";

/** Every field of a message that has a value, under its name in the API. */
export function MessageFacts({ shown }: { shown: ConsoleMessage }) {
  return (
    <DataList withDivider labelWidth="7.5rem" className={classes["facts"]}>
      {factsOf(shown)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <DataList.Item key={name}>
            <DataList.ItemLabel>{text.labels[name]}</DataList.ItemLabel>
            <DataList.ItemValue>{value}</DataList.ItemValue>
          </DataList.Item>
        ))}
    </DataList>
  );
}

type Fact = [name: keyof typeof text.labels, value: ReactNode];

function factsOf(shown: ConsoleMessage): Fact[] {
  const { message, key, carrier, isSubmitted } = shown;
  return [
    ["messageId", <MessageId key="id" id={message.messageId} />],
    [
      "recipient",
      <span key="to" className="mono">
        {message.recipient}
      </span>,
    ],
    ["sender", message.sender ?? text.senderDefault],
    ["encoding", messagesText.encodings[message.encoding]],
    ["segments", formatNumber(message.segments)],
    ["credits", <InLedger key="charge" shown={shown} credits={message.credits} />],
    ["creditsRefunded", <InLedger key="refund" shown={shown} credits={message.creditsRefunded} />],
    ["reference", message.reference || null],
    [
      "metadata",
      message.metadata ? (
        <Code block tabIndex={0} role="group" aria-label={text.labels.metadata}>
          {JSON.stringify(message.metadata, null, 2)}
        </Code>
      ) : null,
    ],
    ["callbackUrl", message.callbackUrl && <Callback key="callback" shown={shown} />],
    ["key", key?.name ?? text.fromConsole],
    [isSubmitted ? "carrier" : "routedTo", carrier?.name ?? words.none],
    ["createdAt", <Time key="created" at={message.createdAt} />],
    ["sendAt", message.sendAt && <Time key="sendAt" at={message.sendAt} />],
    ["sentAt", message.sentAt && <Time key="sent" at={message.sentAt} />],
    ["deliveredAt", message.deliveredAt && <Time key="delivered" at={message.deliveredAt} />],
    ["expiresAt", <Time key="expires" at={message.expiresAt} />],
    ["updatedAt", <Time key="updated" at={message.updatedAt} />],
  ];
}

function MessageId({ id }: { id: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <code className={classes["id"]}>{id}</code>
      <CopyIcon text={id} label={text.copyId} />
    </Group>
  );
}

function InLedger({ shown, credits }: { shown: ConsoleMessage; credits: number }) {
  if (credits === 0) return countOf(0, "credit");
  return (
    <>
      {countOf(credits, "credit")}{" "}
      <TextLink to="/credits" search={{ messageId: shown.message.messageId }} underline="always">
        {text.inLedger}
      </TextLink>
    </>
  );
}

function Callback({ shown: { message } }: { shown: ConsoleMessage }) {
  return (
    <>
      <span>{message.callbackUrl}</span>{" "}
      <TextLink to="/webhooks" search={{ messageId: message.messageId }} underline="always">
        {text.webhooks}
      </TextLink>
    </>
  );
}
