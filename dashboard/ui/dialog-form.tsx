import { Button, Group, Stack, Text } from "@mantine/core";
import { createContext, type ReactNode, type SubmitEvent, use, useEffect } from "react";
import { type Failure, isProofFailure } from "../failure.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "./failure-panel.tsx";

type Props = {
  lead?: ReactNode;
  action: { failure: Failure | undefined; isRunning: boolean };
  submit: string;
  /** Hard to undo, and colored accordingly. */
  isGrave?: boolean;
  /** The button that has the focus at first; otherwise the field that asks for it. */
  focus?: "cancel" | "submit";
  children?: ReactNode;
  onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  onCancel?: () => void;
};

/** By this, a dialog learns whether its form is running. */
export const TellRunning = createContext<(isRunning: boolean) => void>(() => undefined);

/** The form of a dialog: its purpose, what failed, its fields, and two buttons. */
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
