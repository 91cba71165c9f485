import { Button, Group, Stack, Text } from "@mantine/core";
import { createContext, type ReactNode, type SubmitEvent, use, useEffect } from "react";
import { type Failure, isProofFailure } from "../failure.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "./failure-panel.tsx";

type Props = {
  lead?: ReactNode;
  action: { failure: Failure | undefined; isRunning: boolean };
  submit: string;
  /** Hard to undo, and coloured so. */
  isGrave?: boolean;
  /** Which button has the focus at first; else the field that asks for it. */
  focus?: "cancel" | "submit";
  children?: ReactNode;
  onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  onCancel?: () => void;
};

/** A dialog that must know whether its form is at work puts here whom to tell. */
export const TellRunning = createContext<(isRunning: boolean) => void>(() => undefined);

/** The form of a dialog: what it is about, what failed, its fields, and its two buttons. */
export function DialogForm(props: Props) {
  const { lead, action, children, onSubmit } = props;
  const { failure, isRunning } = action;
  const tellRunning = use(TellRunning);
  useEffect(() => {
    tellRunning(isRunning);
    return () => tellRunning(false);
  }, [tellRunning, isRunning]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event);
      }}
      noValidate
    >
      <Stack gap="md">
        {lead && <Text size="sm">{lead}</Text>}
        {failure && !isProofFailure(failure) && <FailureLine failure={failure} />}
        {children}
        <Buttons {...props} />
      </Stack>
    </form>
  );
}

function Buttons({ action, submit, isGrave = false, focus, onCancel }: Props) {
  return (
    <Group justify="flex-end">
      {onCancel && (
        <Button
          variant="default"
          data-autofocus={focus === "cancel" || undefined}
          onClick={onCancel}
        >
          {words.cancel}
        </Button>
      )}
      <Button
        type="submit"
        {...(isGrave ? { color: "red.9" } : {})}
        loading={action.isRunning}
        data-autofocus={focus === "submit" || undefined}
      >
        {submit}
      </Button>
    </Group>
  );
}
