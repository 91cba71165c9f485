import { Alert, Code, Grid, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ConsoleMessage } from "#contract";
import { deliveryErrors } from "../../../contract/errors.ts";
import { useAccount } from "../../session.ts";
import { codeInWords, isNoError } from "../../text/carrier-codes.ts";
import { messageText as text } from "../../text/message.ts";
import { STATUS_COLOR } from "../../theme.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { SegmentRuler } from "../../ui/segment-ruler.tsx";
import { useZone } from "../../ui/zone.tsx";
import { type Read, useRead } from "../../use-read.ts";
import { MessageFacts } from "./facts.tsx";
import classes from "./message-view.module.css";
import { tellStory, tellWait } from "./story.ts";
import { MessageTimeline } from "./timeline.tsx";

export type View = "story" | "json";

type Props = {
  shown: ConsoleMessage;
  view: View;
  onView: (view: View) => void;
  isNarrow?: boolean;
};

/** A whole message: its story, its text split into segments, its fields, and the same as JSON. */
export function MessageView({ shown, view, onView, isNarrow = false }: Props) {
  return (
    <Stack gap="md">
      <ErrorExplained shown={shown} />
      <SegmentedControl
        className={classes["views"]}
        aria-label={text.view}
        value={view}
        onChange={onView}
        data={[
          { value: "story", label: text.viewStory },
          { value: "json", label: text.json },
        ]}
      />
      {view === "json" ? (
        <Code
          block
          tabIndex={0}
          role="group"
          aria-label={text.json}
          className={classes["json"]}
          data-json
        >
          {JSON.stringify(shown.message, null, 2)}
        </Code>
      ) : (
        <Grid gap="xl">
          <Grid.Col span={isNarrow ? 12 : { base: 12, md: 7 }}>
            <Stack gap="lg">
              <MessageTextPart shown={shown} />
              <Story shown={shown} />
            </Stack>
          </Grid.Col>
          <Grid.Col span={isNarrow ? 12 : { base: 12, md: 5 }}>
            <Title order={2} size="h5" mb="xs">
              {text.facts}
            </Title>
            <MessageFacts shown={shown} />
          </Grid.Col>
        </Grid>
      )}
    </Stack>
  );
}

function MessageTextPart({ shown: { message } }: { shown: ConsoleMessage }) {
  return (
    <div>
      <Title order={2} size="h5" mb="xs">
        {text.text}
      </Title>
      {message.text === null ? (
        <Text c="dimmed" size="sm">
          {text.textWithheld}
        </Text>
      ) : (
        <SegmentRuler text={message.text} encoding={message.encoding} />
      )}
    </div>
  );
}

/** A message with its history: loading that later would shift what is below the timeline. */
export function useMessage(messageId: string): Read<ConsoleMessage> {
  const { accountId } = useAccount();
  const message = useRead("GET /console/accounts/{accountId}/messages/{messageId}", {
    params: { accountId, messageId },
  });
  const history = useHistory(messageId);
  const isWhole = history.data !== undefined || history.failure !== undefined;
  return isWhole ? message : { ...message, data: undefined };
}

function useHistory(messageId: string) {
  const { accountId } = useAccount();
  return useRead("GET /console/accounts/{accountId}/messages/{messageId}/events", {
    params: { accountId, messageId },
  });
}

/** The timeline by itself; the compose page also shows it after sending. */
export function Story({ shown }: { shown: ConsoleMessage }) {
  const { message } = shown;
  const zone = useZone();
  const history = useHistory(message.messageId);
  if (!history.data && history.failure) {
    return <FailurePanel failure={history.failure} onRetry={history.retry} />;
  }
  if (!history.data) return null;
  const steps = tellStory(history.data.data, message);
  return (
    <section aria-label={text.timeline}>
      <Title order={2} size="h5" mb="sm">
        {text.timeline}
      </Title>
      <MessageTimeline steps={steps} waitsFor={tellWait(shown, zone)} />
    </section>
  );
}

/** What a delivery error code means and what to do about it, with the carrier's own code. */
function ErrorExplained({ shown: { message } }: { shown: ConsoleMessage }) {
  const { error } = message;
  if (!error) return null;
  const { message: meaning, fix } = deliveryErrors[error.code];
  const { carrierCode: own } = error;
  return (
    <Alert
      color={STATUS_COLOR[message.status]}
      variant="outline"
      icon={<IconAlertTriangle aria-hidden />}
      title={`${error.code}${own && !isNoError(own) ? ` (${text.carrierCode(codeInWords(own))})` : ""}`}
    >
      <Text size="sm">{meaning}</Text>
      <Text size="sm">
        {text.whatToDo}: {fix}
      </Text>
    </Alert>
  );
}
