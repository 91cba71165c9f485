import { NumberInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newIdempotencyKey } from "../../api.ts";
import { checkName, checkWholeNumber } from "../../fields.ts";
import { useProof } from "../../proof.tsx";
import { accountsText as text } from "../../text/operator.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { LinkDialog } from "../../ui/shown-once.tsx";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import { askAgain } from "../../use-read.ts";

/** First creates the account, then shows once the link by which its owner joins. */
export function CreateAccount({ onClose }: { onClose: () => void }) {
  return (
    <LinkDialog
      title={text.createTitle}
      text={text}
      form={(onMade, onCancel) => <AccountForm onMade={onMade} onCancel={onCancel} />}
      onClose={onClose}
    />
  );
}

type Values = { name: string; credits: number | string };

type FormProps = { onMade: (link: string) => void; onCancel: () => void };

function AccountForm({ onMade, onCancel }: FormProps) {
  const client = useQueryClient();
  const proof = useProof();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const fields = useFormFields<Values>(
    "create-account",
    { name: "", credits: 0 },
    {
      name: checkName,
      credits: checkWholeNumber,
    },
  );
  const create = useAction(async ({ name, credits }: Values) => {
    const created = await proof.guard(() =>
      call(
        "POST /console/operator/accounts",
        { body: { name: name.trim(), credits: Number(credits) } },
        { idempotencyKey },
      ),
    );
    askAgain(client, ["GET /console/operator/accounts"]);
    return created.link;
  }, onMade);
  return (
    <DialogForm
      action={{ ...create, failure: fields.general(create.failure) }}
      submit={text.submit}
      onSubmit={fields.submit(create.run)}
      onCancel={onCancel}
    >
      <TextInput label={text.name} withAsterisk data-autofocus {...fields.getInputProps("name")} />
      <NumberInput
        label={text.credits}
        min={0}
        allowDecimal={false}
        thousandSeparator=","
        {...fields.getInputProps("credits")}
      />
      {proof.fields}
    </DialogForm>
  );
}
