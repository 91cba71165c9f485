import { Group, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import type { Carrier } from "#contract";
import { type Answer, call } from "../../api.ts";
import { formatDuration } from "../../format.ts";
import { part } from "../../parts.ts";
import { carriersText as text } from "../../text/operator.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Verdict } from "../../ui/verdict.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import classes from "./operator.module.css";

const EditCarrier = part(() => import("./edit-carrier.tsx"), "EditCarrier");

/** Keeps a number and its unit on one line. */
function unbroken(duration: string): string {
  return duration.replaceAll(" ", "\u00a0");
}

/** A pair connects, binds, queries and unbinds twice, and a carrier may be slow each time. */
const TEST_DEADLINE_MS = 120_000;

type BindTest = Answer<"POST /console/operator/carriers/{carrierId}/test">;

export function CarrierActions({ carrier }: { carrier: Carrier }) {
  const client = useQueryClient();
  const { carrierId, isPaused } = carrier;
  const [open, setOpen] = useState<"edit" | "pause">();
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
    // Another dialog may be open by now.
    if (outcome?.ok) setOpen((now) => (now === verb ? undefined : now));
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
          onClick={() => (isPaused ? void run("resume") : setOpen("pause"))}
        >
          {isPaused ? text.resume : text.pause}
        </RowButton>
        {carrier.kind === "smpp" && (
          <RowButton onClick={() => setOpen("edit")}>{text.edit}</RowButton>
        )}
      </Group>
      <div role="status" className={classes["status"]}>
        {tested && (
          <Verdict isGood={tested.isBound}>
            {text.tested(tested.message, unbroken(formatDuration(tested.durationMs)))}
          </Verdict>
        )}
      </div>
      {test.failure && <FailureLine failure={test.failure} />}
      {change.failure && open !== "pause" && <FailureLine failure={change.failure} />}
      {open === "pause" && (
        <Confirm
          title={text.pauseTitle(carrier.name)}
          consequence={text.pauseText}
          submit={text.pause}
          action={change}
          onConfirm={() => void run("pause")}
          onClose={() => setOpen(undefined)}
        />
      )}
      <Suspense>
        {open === "edit" && <EditCarrier carrier={carrier} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </Stack>
  );
}
