import { Group, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Carrier } from "#contract";
import { type Answer, call } from "../../api.ts";
import { formatDuration } from "../../format.ts";
import { carriersText as text } from "../../text/operator.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Verdict } from "../../ui/verdict.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import classes from "./operator.module.css";

/** Keeps a number and its unit on one line. */
function unbroken(duration: string): string {
  return duration.replaceAll(" ", "\u00a0");
}

/** A pair connects, binds, queries and unbinds twice, and a carrier may be slow each time. */
const TEST_DEADLINE_MS = 120_000;

type BindTest = Answer<"POST /console/operator/carriers/{carrierId}/test">;

type Props = { carrier: Carrier; onEdit: () => void };

export function CarrierActions({ carrier, onEdit }: Props) {
  const client = useQueryClient();
  const { carrierId, isPaused } = carrier;
  const [isPausing, setIsPausing] = useState(false);
  const [tested, setTested] = useState<BindTest>();
  const test = useAction(() =>
    call(
      "POST /console/operator/carriers/{carrierId}/test",
      { params: { carrierId } },
      { deadlineMs: TEST_DEADLINE_MS },
    ),
  );
  const change = useAction((verb: "pause" | "resume") =>
    call(`POST /console/operator/carriers/{carrierId}/${verb}`, { params: { carrierId } }),
  );
  async function run(verb: "pause" | "resume"): Promise<void> {
    const outcome = await change.run(verb);
    askAgain(client, ["GET /console/operator/carriers"]);
    if (outcome?.ok) setIsPausing(false);
  }
  async function bind(): Promise<void> {
    const outcome = await test.run(undefined);
    setTested(outcome?.ok ? outcome.result : undefined);
  }
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <RowButton loading={test.isRunning} onClick={() => void bind()}>
          {text.test}
        </RowButton>
        <RowButton
          loading={change.isRunning}
          onClick={() => (isPaused ? void run("resume") : setIsPausing(true))}
        >
          {isPaused ? text.resume : text.pause}
        </RowButton>
        {carrier.kind === "smpp" && <RowButton onClick={onEdit}>{text.edit}</RowButton>}
      </Group>
      <div role="status" className={classes["status"]}>
        {tested && (
          <Verdict isGood={tested.isBound}>
            {text.tested(tested.message, unbroken(formatDuration(tested.durationMs)))}
          </Verdict>
        )}
      </div>
      {test.failure && <FailureLine failure={test.failure} />}
      {change.failure && !isPausing && <FailureLine failure={change.failure} />}
      {isPausing && (
        <Confirm
          title={text.pauseTitle(carrier.name)}
          consequence={text.pauseText}
          submit={text.pause}
          action={change}
          onConfirm={() => void run("pause")}
          onClose={() => setIsPausing(false)}
        />
      )}
    </Stack>
  );
}
