import { Alert, Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { nowMs, useNow } from "../clock.ts";
import type { Failure } from "../failure.ts";
import { words } from "../text/words.ts";
import { CopyIcon } from "./copy-button.tsx";

/** What went wrong, the request id to quote, and a way to try again. */
export function FailurePanel({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  const wait = useCountdown(failure);
  return (
    <Alert
      color="red"
      variant="outline"
      icon={<IconAlertTriangle aria-hidden />}
      title={failure.message}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        {wait > 0 && <Text size="sm">{words.waitSeconds(wait)}</Text>}
        <RequestId failure={failure} />
        <Group gap="md">
          {onRetry && (
            <Button variant="default" size="xs" disabled={wait > 0} onClick={onRetry}>
              {words.retry}
            </Button>
          )}
          {failure.docUrl && (
            <Anchor href={failure.docUrl} size="sm">
              {words.meaning}
            </Anchor>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

/** The same in one line, for forms and dialogs. */
export function FailureLine({ failure, children }: { failure: Failure; children?: ReactNode }) {
  const wait = useCountdown(failure);
  return (
    <Alert color="red" variant="outline" icon={<IconAlertTriangle aria-hidden />} role="alert">
      <Text size="sm">{failure.message}</Text>
      {children && <Text size="sm">{children}</Text>}
      {wait > 0 && <Text size="sm">{words.waitSeconds(wait)}</Text>}
      {failure.status >= 500 && <RequestId failure={failure} />}
    </Alert>
  );
}

function RequestId({ failure }: { failure: Failure }) {
  if (failure.requestId === undefined) return null;
  return (
    <Group gap={4}>
      <Text size="sm" c="dimmed">
        {words.requestId}
      </Text>
      <Group gap={0} wrap="nowrap">
        <Code className="mono" fz={11}>
          {failure.requestId}
        </Code>
        <CopyIcon text={failure.requestId} label={words.copyRequestId} />
      </Group>
    </Group>
  );
}

/** Whole seconds left of the failure's wait, counted from when it is first shown. */
function useCountdown(failure: Failure): number {
  const now = useNow();
  const [begun, setBegun] = useState({ failure, at: now });
  if (begun.failure !== failure) setBegun({ failure, at: nowMs() });
  const { retryAfterSeconds = 0 } = failure;
  // The last tick may be older than the failure.
  const passedMs = Math.max(0, now - begun.at);
  return Math.max(0, Math.ceil(retryAfterSeconds - passedMs / 1_000));
}
