import { Alert, Button, Code, Group, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconClock } from "@tabler/icons-react";
import { Suspense, useEffect, useState } from "react";
import type { Answer } from "../../api.ts";
import { useNow } from "../../clock.ts";
import { formatDuration } from "../../format.ts";
import { part } from "../../parts.ts";
import { useAccount, useDenial } from "../../session.ts";
import { secretText as text } from "../../text/webhooks.ts";
import { words } from "../../text/words.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";
import classes from "./exchange.module.css";

const RevealSecret = part(() => import("./secret-dialogs.tsx"), "RevealSecret");
const RotateSecret = part(() => import("./secret-dialogs.tsx"), "RotateSecret");

export type Revealed = Answer<"POST /console/accounts/{accountId}/signing-secret/reveal">;

/** A revealed secret hides by itself after this time. */
const SHOWN_MS = 30_000;

export function SecretPanel() {
  const { accountId } = useAccount();
  const denial = useDenial("developer");
  const secret = useRead("GET /console/accounts/{accountId}/signing-secret", {
    params: { accountId },
  });
  const [dialog, setDialog] = useState<"reveal" | "rotate">();
  const [revealed, setRevealed] = useState<Revealed>();
  if (secret.failure && !secret.data) {
    return <FailurePanel failure={secret.failure} onRetry={secret.retry} />;
  }
  if (!secret.data) {
    return <Skeleton height={236} maw="46rem" role="status" aria-label={words.loading} />;
  }
  const { mask, createdAt, previousUntil } = secret.data;
  return (
    <Paper withBorder p="lg" maw="46rem">
      <Stack gap="md">
        <div>
          <Title order={2} size="h4">
            {text.title}
          </Title>
          <Text size="sm" c="dimmed">
            {text.lead}
          </Text>
        </div>
        {revealed ? (
          <RevealedSecret revealed={revealed} onHide={() => setRevealed(undefined)} />
        ) : (
          <Code block aria-label={text.value} translate="no">
            {mask}
          </Code>
        )}
        <Text size="sm" c="dimmed">
          {text.made} <Time at={createdAt} />
        </Text>
        {previousUntil && <Countdown until={previousUntil} />}
        <Group gap="sm">
          {!revealed && (
            <ReasonedButton reason={denial} variant="default" onClick={() => setDialog("reveal")}>
              {text.reveal}
            </ReasonedButton>
          )}
          <ReasonedButton reason={denial} variant="default" onClick={() => setDialog("rotate")}>
            {text.rotate}
          </ReasonedButton>
        </Group>
      </Stack>
      <Suspense>
        {dialog === "reveal" && (
          <RevealSecret onClose={() => setDialog(undefined)} onRevealed={setRevealed} />
        )}
        {dialog === "rotate" && (
          <RotateSecret
            previousUntil={previousUntil}
            onClose={() => setDialog(undefined)}
            onRotated={() => setRevealed(undefined)}
          />
        )}
      </Suspense>
    </Paper>
  );
}

function RevealedSecret({ revealed, onHide }: { revealed: Revealed; onHide: () => void }) {
  const now = useNow();
  const [start] = useState(now);
  const leftMs = SHOWN_MS - (now - start);
  useEffect(() => {
    if (leftMs <= 0) onHide();
  });
  return (
    <Stack gap="xs">
      <Code block className={classes["body"]} aria-label={text.value} translate="no">
        {revealed.signingSecret}
      </Code>
      <Group gap="xs">
        <CopyButton text={revealed.signingSecret} label={text.copy} autoFocus />
        <Button variant="default" onClick={onHide}>
          {text.hide}
        </Button>
        <Text size="sm" c="dimmed">
          {text.hidesIn(Math.max(0, Math.ceil(leftMs / 1_000)))}
        </Text>
      </Group>
    </Stack>
  );
}

function Countdown({ until }: { until: string }) {
  const leftMs = Date.parse(until) - useNow();
  if (leftMs <= 0) return null;
  return (
    <Alert color="yellow" variant="outline" icon={<IconClock aria-hidden />}>
      {text.previousUntil(formatDuration(leftMs))}
    </Alert>
  );
}
