import { Button, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Failure } from "../failure.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "./failure-panel.tsx";
import { Dialog } from "./dialog.tsx";

type Props = {
  title: string;
  /** What follows from it. */
  consequence: string;
  children?: ReactNode;
  submit: string;
  isRunning: boolean;
  failure: Failure | undefined;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that is hard to undo; the way out has the focus. */
export function Confirm(props: Props) {
  const { title, consequence, children, submit, isRunning, failure, onConfirm, onClose } = props;
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
        noValidate
      >
        <Stack gap="md">
          <Text size="sm">{consequence}</Text>
          {failure && <FailureLine failure={failure} />}
          {children}
          <Group justify="flex-end">
            <Button variant="default" data-autofocus onClick={onClose}>
              {words.cancel}
            </Button>
            <Button type="submit" color="red.9" loading={isRunning}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
