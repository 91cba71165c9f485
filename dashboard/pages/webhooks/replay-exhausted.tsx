import { Button, Group, Progress, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, call, newIdempotencyKey } from "../../api.ts";
import { nowMs } from "../../clock.ts";
import { countOf, formatNumber, zoneName } from "../../format.ts";
import { fromWall, toWall } from "../../range.ts";
import { useAccount } from "../../session.ts";
import { replayText as text } from "../../text/webhooks.ts";
import { words } from "../../text/words.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { useZone } from "../../ui/zone.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain, type Read, useRead } from "../../use-read.ts";
import { Dialog } from "../../ui/dialog.tsx";

const DAY_MS = 86_400_000;

const REPLAY = "GET /console/accounts/{accountId}/replays/{replayId}";
type Replay = Answer<typeof REPLAY>;

type Props = {
  /** A replay that was started before. */
  replayId: string | undefined;
  onStarted: (replayId: string) => void;
  /** A replay that is not over can be opened again. */
  onClose: (isOver: boolean) => void;
};

/** First counts, then replays, with progress and a way to stop. */
export function ReplayExhausted({ replayId, onStarted, onClose }: Props) {
  const { accountId } = useAccount();
  const replay = useRead(
    REPLAY,
    { params: { accountId, replayId: replayId ?? "" } },
    { isOn: replayId !== undefined },
  );
  const { data, failure } = replay;
  const isOver = failure?.status === 404 || (data !== undefined && data.state !== "running");
  const close = () => onClose(isOver);
  return (
    <Dialog onClose={close} title={text.title}>
      {replayId ? (
        <ReplayProgress replayId={replayId} replay={replay} onClose={close} />
      ) : (
        <ReplayForm onStarted={onStarted} onClose={close} />
      )}
    </Dialog>
  );
}

function ReplayForm({
  onStarted,
  onClose,
}: {
  onStarted: (id: string) => void;
  onClose: () => void;
}) {
  const { accountId } = useAccount();
  const zone = useZone();
  const [wall, setWall] = useState(() => toWall(new Date(nowMs() - DAY_MS).toISOString(), zone));
  const since = fromWall(wall, zone);
  const [counted, setCounted] = useState<{ wall: string; total: number }>();
  // A count that comes late is not that of the time entered meanwhile.
  const total = counted?.wall === wall ? counted.total : undefined;
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const replay = useAction((dryRun: boolean) =>
    call(
      "POST /console/accounts/{accountId}/replays",
      {
        params: { accountId },
        body: { exhaustedSince: since ?? wall, dryRun },
      },
      // Counting and replaying are two requests, so they need two keys.
      dryRun ? { onlyReads: true } : { idempotencyKey },
    ),
  );
  async function count(): Promise<void> {
    const outcome = await replay.run(true);
    if (outcome?.ok) setCounted({ wall, total: outcome.result.total });
  }
  async function start(): Promise<void> {
    const outcome = await replay.run(false);
    if (outcome?.ok && outcome.result.replayId) onStarted(outcome.result.replayId);
  }
  return (
    <Stack gap="md">
      {replay.failure && <FailureLine failure={replay.failure} />}
      <TextInput
        type="datetime-local"
        label={text.since(zoneName(zone))}
        value={wall}
        error={since === undefined ? text.sinceNeeded : undefined}
        data-autofocus
        onChange={(event) => {
          setWall(event.currentTarget.value);
          setIdempotencyKey(newIdempotencyKey());
        }}
      />
      <Text size="sm" role="status">
        {total === undefined
          ? ""
          : total === 0
            ? text.none
            : text.counted(countOf(total, "delivery", "deliveries"))}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {words.cancel}
        </Button>
        {total ? (
          <Button loading={replay.isRunning} onClick={() => void start()}>
            {text.submit(formatNumber(total))}
          </Button>
        ) : (
          <Button
            loading={replay.isRunning}
            disabled={since === undefined}
            onClick={() => void count()}
          >
            {text.count}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

const TITLES: Record<Replay["state"], string> = {
  counted: text.running,
  running: text.running,
  done: text.done,
  canceled: text.canceled,
};

type ProgressProps = { replayId: string; replay: Read<Replay>; onClose: () => void };

function ReplayProgress({ replayId, replay, onClose }: ProgressProps) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const cancel = useAction(() =>
    call("DELETE /console/accounts/{accountId}/replays/{replayId}", {
      params: { accountId, replayId },
    }),
  );
  const { data } = replay;
  async function stop(): Promise<void> {
    await cancel.run(undefined);
    askAgain(client, [REPLAY]);
  }
  return (
    <Stack gap="md">
      {replay.failure && <FailureLine failure={replay.failure} />}
      {cancel.failure && <FailureLine failure={cancel.failure} />}
      {data && (
        <>
          <Text fw={550}>{TITLES[data.state]}</Text>
          <Progress
            value={data.total === 0 ? 100 : ((data.delivered + data.failed) / data.total) * 100}
            aria-label={text.running}
          />
          <Text size="sm" role="status">
            {text.progress(
              formatNumber(data.delivered),
              formatNumber(data.failed),
              formatNumber(data.waiting),
            )}
          </Text>
        </>
      )}
      <Group justify="flex-end">
        {data?.state === "running" && (
          <Button variant="default" loading={cancel.isRunning} onClick={() => void stop()}>
            {text.cancel}
          </Button>
        )}
        <Button data-autofocus onClick={onClose}>
          {words.close}
        </Button>
      </Group>
    </Stack>
  );
}
