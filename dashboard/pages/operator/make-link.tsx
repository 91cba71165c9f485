import { Checkbox } from "@mantine/core";
import { useState } from "react";
import { useProof } from "../../proof.tsx";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { LinkDialog } from "../../ui/shown-once.tsx";
import { useAction } from "../../use-action.ts";

type FormProps = {
  /** What the link will do, shown before it is made. */
  lead: string;
  submit: string;
  /** The label of a box for what else the link may do. */
  option?: string | undefined;
  make: (isChosen: boolean) => Promise<{ link: string }>;
};

type Props = FormProps & {
  title: string;
  /** The texts that go with the link once it is made. */
  text: { linkTitle: string; linkLead: string; link: string };
  onClose: () => void;
};

/** Asks first, then makes a one-time link and shows it once. */
export function MakeLink({ title, text, onClose, ...form }: Props) {
  return (
    <LinkDialog
      title={title}
      text={text}
      form={(onMade, onCancel) => <LinkForm {...form} onMade={onMade} onCancel={onCancel} />}
      onClose={onClose}
    />
  );
}

type Made = { onMade: (link: string) => void; onCancel: () => void };

function LinkForm({ lead, submit, option, make, onMade, onCancel }: FormProps & Made) {
  const proof = useProof();
  const [isChosen, setIsChosen] = useState(false);
  const action = useAction(
    () => proof.guard(() => make(isChosen)),
    ({ link }) => onMade(link),
  );
  return (
    <DialogForm
      lead={lead}
      action={action}
      submit={submit}
      isGrave
      focus="cancel"
      onSubmit={() => void action.run(undefined)}
      onCancel={onCancel}
    >
      {option && (
        <Checkbox
          label={option}
          checked={isChosen}
          onChange={(event) => setIsChosen(event.currentTarget.checked)}
        />
      )}
      {proof.fields}
    </DialogForm>
  );
}
