import { Button, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, call } from "../../api.ts";
import { isProofFailure } from "../../failure.ts";
import { checkPresent } from "../../fields.ts";
import { useProof } from "../../proof.tsx";
import { profileText as text } from "../../text/settings.ts";
import { fieldText } from "../../text/sign-in.ts";
import { words } from "../../text/words.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { downloadText } from "../../ui/download.ts";
import { QrImage } from "../../ui/qr-image.tsx";
import { ShownOnceDialog } from "../../ui/shown-once.tsx";
import classes from "../../ui/shown-once.module.css";
import { toast } from "../../ui/toasts.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";

export type FactorDialog = "on" | "off" | "codes";

type Seed = Answer<"POST /console/auth/second-factor/enrol">;

const TITLES: Record<FactorDialog, string> = {
  on: text.enrolTitle,
  off: text.offTitle,
  codes: text.renewTitle,
};

/** Switching on, switching off, new codes. What is shown once is kept only in this component. */
export function SecondFactorDialog(props: { dialog: FactorDialog; onClose: () => void }) {
  const { dialog, onClose } = props;
  const [seed, setSeed] = useState<Seed>();
  return (
    <ShownOnceDialog<string[]>
      title={TITLES[dialog]}
      shownTitle={text.codesTitle}
      form={(onMade, onCancel) =>
        seed ? (
          <FirstCode seed={seed} onCodes={onMade} />
        ) : (
          <Begin
            dialog={dialog}
            onCancel={onCancel}
            onClose={onClose}
            onSeed={setSeed}
            onCodes={onMade}
          />
        )
      }
      shown={(codes, saving) => <RecoveryCodes codes={codes} {...saving} />}
      onClose={onClose}
    />
  );
}

type BeginProps = {
  dialog: FactorDialog;
  onCancel: () => void;
  onClose: () => void;
  onSeed: (seed: Seed) => void;
  onCodes: (codes: string[]) => void;
};

function Begin({ dialog, onCancel, onClose, onSeed, onCodes }: BeginProps) {
  const client = useQueryClient();
  const proof = useProof();
  const act = useAction(() =>
    proof.guard(async () => {
      switch (dialog) {
        case "on": {
          const seed = await call("POST /console/auth/second-factor/enrol", {});
          return () => onSeed(seed);
        }
        case "codes": {
          const { recoveryCodes } = await call("POST /console/auth/recovery-codes", {});
          return () => onCodes(recoveryCodes);
        }
        case "off":
          await call("DELETE /console/auth/second-factor", {});
          toast({ title: text.offDone, message: text.passwordChangedHint });
          return onClose;
      }
    }),
  );
  async function send(): Promise<void> {
    const outcome = await act.run(undefined);
    if (outcome?.ok) outcome.result();
    askAgain(client, ["GET /console/me", "GET /console/auth/sessions"]);
  }
  const says = { on: text.beginText, off: text.offText, codes: text.renewText }[dialog];
  const submit = { on: text.begin, off: text.switchOff, codes: text.renewSubmit }[dialog];
  return (
    <DialogForm
      lead={says}
      action={act}
      submit={submit}
      focus={dialog === "on" ? "submit" : "cancel"}
      onCancel={onCancel}
      onSubmit={() => void send()}
    >
      {proof.fields}
    </DialogForm>
  );
}

function FirstCode({ seed, onCodes }: { seed: Seed; onCodes: (codes: string[]) => void }) {
  const client = useQueryClient();
  const fields = useFields({ code: "" }, { code: checkPresent(fieldText.codeNeeded) });
  const proof = useProof();
  const confirm = useAction((code: string) =>
    proof.guard(() => call("POST /console/auth/second-factor/confirm", { body: { code } })),
  );
  async function send({ code }: { code: string }): Promise<void> {
    const outcome = await confirm.run(code);
    askAgain(client, ["GET /console/me", "GET /console/auth/sessions"]);
    if (outcome?.ok) onCodes(outcome.result.recoveryCodes);
    else if (outcome && !isProofFailure(outcome.failure)) fields.getInputNode("code")?.focus();
  }
  return (
    <DialogForm
      lead={text.enrolLead}
      action={confirm}
      submit={text.confirm}
      onSubmit={fields.submit((values) => void send(values))}
    >
      <Group align="flex-start" gap="md">
        <QrImage text={seed.otpauthUrl} label={text.qr} />
        <Stack gap="xs" flex={1} miw={180}>
          <Code block className={classes["secret"]} aria-label={text.secret} translate="no">
            {seed.secret}
          </Code>
          <Group>
            <CopyButton text={seed.secret} label={text.copySecret} />
          </Group>
        </Stack>
      </Group>
      <TextInput
        label={text.firstCode}
        inputMode="numeric"
        autoComplete="one-time-code"
        translate="no"
        spellCheck={false}
        autoFocus
        {...fields.getInputProps("code")}
      />
      {proof.fields}
    </DialogForm>
  );
}

type CodesProps = { codes: string[]; onSaved: () => void; onDone: () => void };

function RecoveryCodes({ codes, onSaved, onDone }: CodesProps) {
  const all = codes.join("\n");
  return (
    <Stack gap="md">
      <Text size="sm">{text.codesLead}</Text>
      <Code block aria-label={text.codes} translate="no" spellCheck={false}>
        {all}
      </Code>
      <Group>
        <CopyButton
          text={all}
          label={text.copyCodes}
          variant="filled"
          autoFocus
          onCopied={onSaved}
        />
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => {
            downloadText("posthorn-recovery-codes.txt", `${all}\n`);
            onSaved();
          }}
        >
          {text.downloadCodes}
        </Button>
      </Group>
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          {words.done}
        </Button>
      </Group>
    </Stack>
  );
}
