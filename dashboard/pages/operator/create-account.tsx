import { Button, Group, Modal, NumberInput, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newIdempotencyKey } from "../../api.ts";
import { checkName } from "../../fields.ts";
import { isProofFailure, useProof } from "../../proof.tsx";
import { accountsText as text } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { ShownLink, useUnsavedGate } from "../../ui/shown-once.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";

/** First the account, then the link by which its owner joins, shown once. */
export function CreateAccount({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [isSaved, setIsSaved] = useState(false);
  const gate = useUnsavedGate({ isUnsaved: link !== undefined && !isSaved, onClose });
  return (
    <Modal.Stack>
      <Dialog
        onClose={gate.close}
        stackId="create-account"
        title={link ? text.linkTitle : text.createTitle}
      >
        {link ? (
          <ShownLink
            lead={text.linkLead}
            label={text.link}
            link={link}
            onSaved={() => setIsSaved(true)}
            onDone={gate.close}
          />
        ) : (
          <AccountForm onMade={setLink} onCancel={onClose} />
        )}
      </Dialog>
      {gate.dialog}
    </Modal.Stack>
  );
}

type Values = { name: string; credits: number | string };

function AccountForm({
  onMade,
  onCancel,
}: {
  onMade: (link: string) => void;
  onCancel: () => void;
}) {
  const client = useQueryClient();
  const proof = useProof();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const fields = useFields<Values>(
    { name: "", credits: 0 },
    {
      name: checkName,
      credits: (value) => (/^\d+$/.test(String(value)) ? null : text.creditsWrong),
    },
  );
  const create = useAction(({ name, credits }: Values) =>
    proof.guard(() =>
      call(
        "POST /console/operator/accounts",
        { body: { name: name.trim(), credits: Number(credits) } },
        { idempotencyKey },
      ),
    ),
  );
  async function send(values: Values): Promise<void> {
    const outcome = await create.run(values);
    if (outcome?.ok === false) fields.take(outcome.failure);
    if (!outcome?.ok) return;
    askAgain(client, ["GET /console/operator/accounts"]);
    onMade(outcome.result.link);
  }
  return (
    <form onSubmit={fields.submit((values) => void send(values))} noValidate>
      <Stack gap="md">
        {create.failure && !isProofFailure(create.failure) && (
          <FailureLine failure={create.failure} />
        )}
        <TextInput label={text.name} data-autofocus {...fields.getInputProps("name")} />
        <NumberInput
          label={text.credits}
          min={0}
          allowDecimal={false}
          thousandSeparator=","
          {...fields.getInputProps("credits")}
        />
        {proof.fields}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={create.isRunning}>
            {text.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
