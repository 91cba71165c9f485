import { Group, NumberInput, Radio, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { call } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { checkPresent } from "../../fields.ts";
import { useProof } from "../../proof.tsx";
import { bookText as text } from "../../text/operator.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import { askAgain } from "../../use-read.ts";

type Props = {
  account: { accountId: string; name: string; balance: number };
  onClose: () => void;
};

type Values = {
  kind: "topup" | "adjustment";
  amount: number | string;
  note: string;
  reference: string;
};

/** Only operators book credits; the reference keeps a booking from being made twice. */
export function BookCredits({ account, onClose }: Props) {
  const { accountId, name, balance } = account;
  const client = useQueryClient();
  const proof = useProof();
  const fields = useFormFields<Values>(
    `book-credits ${accountId}`,
    { kind: "topup", amount: "", note: "", reference: "" },
    {
      amount: checkAmount,
      note: checkPresent(text.noteNeeded),
      reference: checkPresent(text.referenceNeeded),
    },
  );
  const book = useAction(async ({ kind, amount, note, reference }: Values) => {
    const { outcome, balance: after } = await proof.guard(() =>
      call("POST /console/operator/accounts/{accountId}/credits", {
        params: { accountId },
        body: { kind, amount: Number(amount), note: note.trim(), reference: reference.trim() },
      }),
    );
    const isWarning = outcome !== "booked";
    const title = isWarning ? text.repeated : text.booked;
    toast({ title, message: text.balance(formatNumber(after)), isWarning });
    askAgain(client, [
      "GET /console/me",
      "GET /console/operator/accounts",
      "GET /console/accounts/{accountId}/credits",
      "GET /console/accounts/{accountId}/ledger",
    ]);
  }, onClose);
  const isBookable = checkAmount(fields.values.amount, fields.values) === null;
  const after = balance + Number(fields.values.amount);
  return (
    <Dialog onClose={onClose} title={text.titles[fields.values.kind](name)}>
      <DialogForm
        action={{ ...book, failure: fields.general(book.failure) }}
        submit={text.submits[fields.values.kind]}
        onSubmit={fields.submit(book.run)}
        onCancel={onClose}
      >
        <Radio.Group label={text.kind} {...fields.getInputProps("kind")}>
          <Group mt="xs">
            <Radio value="topup" label={text.topup} />
            <Radio value="adjustment" label={text.adjustment} />
          </Group>
        </Radio.Group>
        <NumberInput
          label={text.amount}
          withAsterisk
          description={text.amountHints[fields.values.kind]}
          allowDecimal={false}
          thousandSeparator=","
          data-autofocus
          {...fields.getInputProps("amount")}
        />
        <TextInput
          label={text.note}
          withAsterisk
          description={text.noteHint}
          {...fields.getInputProps("note")}
        />
        <TextInput
          label={text.reference}
          withAsterisk
          description={text.referenceHint}
          autoComplete="off"
          {...fields.getInputProps("reference")}
        />
        <Text size="sm" role="status">
          {isBookable ? text.change(formatNumber(balance), formatNumber(after)) : ""}
        </Text>
        {proof.fields}
      </DialogForm>
    </Dialog>
  );
}

function checkAmount(value: number | string, { kind }: Values): string | null {
  const amount = Number(value);
  if (value === "" || !Number.isInteger(amount) || amount === 0) return text.amountWrong;
  return kind === "topup" && amount < 0 ? text.topupWrong : null;
}
