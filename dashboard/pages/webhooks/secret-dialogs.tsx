import { Checkbox, NumberInput, Radio, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newIdempotencyKey } from "../../api.ts";
import { useNow } from "../../clock.ts";
import { formatDuration } from "../../format.ts";
import { useProof } from "../../proof.tsx";
import { useAccount } from "../../session.ts";
import { secretText as text } from "../../text/webhooks.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import type { Revealed } from "./secret-panel.tsx";
import { Dialog } from "../../ui/dialog.tsx";

type RevealProps = { onClose: () => void; onRevealed: (revealed: Revealed) => void };

export function RevealSecret({ onClose, onRevealed }: RevealProps) {
  const { accountId } = useAccount();
  const proof = useProof();
  const reveal = useAction(
    () =>
      proof.guard(() =>
        call("POST /console/accounts/{accountId}/signing-secret/reveal", { params: { accountId } }),
      ),
    (revealed) => {
      onRevealed(revealed);
      onClose();
    },
  );
  return (
    <Dialog onClose={onClose} title={text.revealTitle}>
      <DialogForm
        lead={text.revealText}
        action={reveal}
        submit={text.reveal}
        focus="submit"
        onSubmit={() => void reveal.run(undefined)}
        onCancel={onClose}
      >
        {proof.fields}
      </DialogForm>
    </Dialog>
  );
}

const DEFAULT_HOURS = 24;

type RotateProps = {
  /** Until when the previous secret still signs. */
  previousUntil: string | null;
  onClose: () => void;
  onRotated: () => void;
};

export function RotateSecret({ previousUntil, onClose, onRotated }: RotateProps) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const proof = useProof();
  const [formKey] = useState(newIdempotencyKey);
  const rotate = useAction(async (body: { overlapHours: number; dropPrevious: boolean }) => {
    await proof
      .guard(
        () =>
          call(
            "POST /console/accounts/{accountId}/signing-secret/rotate",
            { params: { accountId }, body },
            // Retrying after a lost answer has no further effect; another overlap is a new request.
            { idempotencyKey: `${formKey} ${body.overlapHours}` },
          ),
        // Even if it was refused: somebody else may have rotated it meanwhile.
      )
      .finally(() => askAgain(client, ["GET /console/accounts/{accountId}/signing-secret"]));
    toast({ title: text.rotated, message: text.rotatedHint });
    onRotated();
  }, onClose);
  const leftMs = Date.parse(previousUntil ?? "") - useNow();
  // It may have succeeded: a retry then counts as the same rotation, and drops nothing.
  const isUntold = rotate.failure?.code === "OFFLINE" || (rotate.failure?.status ?? 0) >= 500;
  const drops = leftMs > 0 && !isUntold;
  const fields = useFields(
    { overlap: "keep", hours: DEFAULT_HOURS as number | string, dropPrevious: false },
    {
      dropPrevious: (isConfirmed, { overlap }) =>
        drops && overlap === "keep" && !isConfirmed ? text.dropPreviousNeeded : null,
      hours: (hours, { overlap }) => {
        const isFine = overlap === "drop" || (Number(hours) >= 1 && Number(hours) <= 72);
        return isFine ? null : text.hoursWrong;
      },
    },
  );
  function send({ overlap, hours, dropPrevious }: typeof fields.values): void {
    const overlapHours = overlap === "drop" ? 0 : Number(hours);
    void rotate.run({ overlapHours, dropPrevious });
  }
  return (
    <Dialog onClose={onClose} title={text.rotateTitle}>
      <DialogForm
        lead={text.rotateText}
        action={rotate}
        submit={text.rotateSubmit}
        isGrave
        onSubmit={fields.submit(send)}
        onCancel={onClose}
      >
        <Radio.Group label={text.overlap} {...fields.getInputProps("overlap")}>
          <Stack gap="xs" mt="xs">
            <Radio value="keep" label={text.keep} data-autofocus />
            <Radio value="drop" label={text.drop} />
          </Stack>
        </Radio.Group>
        {fields.values.overlap === "keep" && (
          <NumberInput
            label={text.hours}
            description={text.hoursHint}
            min={1}
            max={72}
            allowDecimal={false}
            w={160}
            {...fields.getInputProps("hours")}
          />
        )}
        {fields.values.overlap === "keep" &&
          leftMs > 0 &&
          (!isUntold || fields.values.dropPrevious) && (
            <Checkbox
              label={text.dropPrevious(formatDuration(leftMs))}
              description={text.dropPreviousHint}
              {...fields.getInputProps("dropPrevious", { type: "checkbox" })}
            />
          )}
        {proof.fields}
      </DialogForm>
    </Dialog>
  );
}
