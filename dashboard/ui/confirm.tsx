import type { ReactNode } from "react";
import type { Failure } from "../failure.ts";
import { DialogForm } from "./dialog-form.tsx";
import { Dialog } from "./dialog.tsx";

type Props = {
  title: string;
  /** What will happen. */
  consequence: string;
  children?: ReactNode;
  submit: string;
  action: { failure: Failure | undefined; isRunning: boolean };
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that is hard to undo; the focus is on the way out. */
export function Confirm(props: Props) {
  const { title, consequence, children, submit, action, onConfirm, onClose } = props;
  return (
    <Dialog onClose={onClose} title={title}>
      <DialogForm
        lead={consequence}
        action={action}
        submit={submit}
        isGrave
        focus="cancel"
        onSubmit={onConfirm}
        onCancel={onClose}
      >
        {children}
      </DialogForm>
    </Dialog>
  );
}
