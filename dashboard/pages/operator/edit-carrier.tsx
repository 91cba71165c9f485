import { Group, NumberInput, PasswordInput, Radio } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Carrier } from "#contract";
import { call } from "../../api.ts";
import { Failure, localFailure, toFailure } from "../../failure.ts";
import { checkWholeNumber } from "../../fields.ts";
import { useProof } from "../../proof.tsx";
import { carriersText as text } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";

const GONE = localFailure("CARRIER_NOT_FOUND", text.gone);

type Values = { rate: number | string; window: number | string; inDoubt: string; password: string };

type Props = {
  carrier: Carrier;
  /** It was removed while the dialog was open. */
  isGone: boolean;
  onClose: () => void;
};

/** The limits, what to do in doubt, and the password, which can be set but not read. */
export function EditCarrier({ carrier, isGone, onClose }: Props) {
  // The carrier as the dialog opened with it: its version keeps it from undoing a later change.
  const [{ carrierId, version, settings, name }] = useState(carrier);
  const client = useQueryClient();
  const proof = useProof();
  const fields = useFields<Values>(
    {
      rate: Number(settings["rate"] ?? 0),
      window: Number(settings["window"] ?? 0),
      inDoubt: String(settings["in_doubt"] ?? "resend"),
      password: "",
    },
    {
      rate: checkWholeNumber,
      window: (value) => (/^[1-9]\d*$/.test(String(value)) ? null : text.windowWrong),
    },
  );
  const save = useAction(async ({ rate, window, inDoubt, password }: Values) => {
    const changed = {
      ...(fields.isDirty("rate") && { rate: Number(rate) }),
      ...(fields.isDirty("window") && { window: Number(window) }),
      ...(fields.isDirty("inDoubt") && { in_doubt: inDoubt }),
    };
    await proof
      .guard(() =>
        call("PATCH /console/operator/carriers/{carrierId}", {
          params: { carrierId },
          body: {
            version,
            ...(Object.keys(changed).length > 0 && { settings: changed }),
            ...(password !== "" && { password }),
          },
        }).catch((error: unknown) => {
          throw unnested(toFailure(error));
        }),
      )
      .finally(() => askAgain(client, ["GET /console/operator/carriers"]));
    toast({ title: text.saved(name), message: text.savedHint });
  }, onClose);
  return (
    <Dialog onClose={onClose} title={text.editTitle(name)}>
      <DialogForm
        action={{ ...save, failure: isGone ? GONE : fields.general(save.failure) }}
        submit={words.save}
        onSubmit={fields.submit(save.run)}
        onCancel={onClose}
      >
        <NumberInput
          label={text.rate}
          description={text.rateHint}
          min={0}
          allowDecimal={false}
          data-autofocus
          {...fields.getInputProps("rate")}
        />
        <NumberInput
          label={text.windowSetting}
          min={1}
          allowDecimal={false}
          {...fields.getInputProps("window")}
        />
        <Radio.Group label={text.inDoubt} {...fields.getInputProps("inDoubt")}>
          <Group mt="xs">
            <Radio value="resend" label={text.resend} />
            <Radio value="fail" label={text.fail} />
          </Group>
        </Radio.Group>
        <PasswordInput
          label={text.password}
          description={text.passwordHint}
          autoComplete="off"
          visibilityToggleButtonProps={{ "aria-label": words.showPassword }}
          {...fields.getInputProps("password")}
        />
        {proof.fields}
      </DialogForm>
    </Dialog>
  );
}

/** The API has limits among the settings; here each is a field of its own. */
function unnested(failure: Failure): Failure {
  const details = failure.details.map(({ field, ...rest }) => ({
    field: field?.replace(/^settings\./, "") ?? null,
    ...rest,
  }));
  return new Failure(failure.message, { ...failure, details });
}
