import { Button, Code, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { shownOnceText as text } from "../text/shown-once.ts";
import { words } from "../text/words.ts";
import { selectContent } from "./copy.ts";
import { CopyButton } from "./copy-button.tsx";
import classes from "./shown-once.module.css";

type Gate = { close: () => void; dialog: ReactNode };

/**
 * While something shown once is not saved, every way to close asks first: the buttons, Esc, a click
 * outside, the Back button, and leaving the page.
 */
export function useUnsavedGate(options: { isUnsaved: boolean; onClose: () => void }): Gate {
  const { isUnsaved, onClose } = options;
  const [isAsked, setIsAsked] = useState(false);
  const blocker = useBlocker({
    shouldBlockFn: () => isUnsaved,
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  const isBlocked = blocker.status === "blocked";
  function goBack(): void {
    setIsAsked(false);
    if (isBlocked) blocker.reset();
  }
  function leave(): void {
    setIsAsked(false);
    if (isBlocked) blocker.proceed();
    else onClose();
  }
  const dialog = (
    <Modal
      opened={isUnsaved && (isAsked || isBlocked)}
      onClose={goBack}
      stackId="unsaved-gate"
      title={text.gateTitle}
      centered
    >
      <Stack gap="md">
        <Text size="sm">{text.gateText}</Text>
        <Group justify="flex-end">
          <Button variant="default" c="var(--mantine-color-error)" onClick={leave}>
            {text.closeAnyway}
          </Button>
          <Button data-autofocus onClick={goBack}>
            {text.goBack}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
  return { close: () => (isUnsaved ? setIsAsked(true) : onClose()), dialog };
}

type LinkProps = {
  lead: string;
  label: string;
  link: string;
  onSaved: () => void;
  onDone: () => void;
};

/** A one-time link, shown this once. */
export function ShownLink({ lead, label, link, onSaved, onDone }: LinkProps) {
  const shown = useRef<HTMLElement>(null);
  return (
    <Stack gap="md">
      <Text size="sm">{lead}</Text>
      <Code
        block
        ref={shown}
        className={classes["secret"]}
        aria-label={label}
        translate="no"
        spellCheck={false}
      >
        {link}
      </Code>
      <Group justify="space-between">
        <CopyButton
          text={link}
          label={text.copyLink}
          variant="filled"
          autoFocus
          onCopied={onSaved}
          select={() => selectContent(shown.current)}
        />
        <Button variant="default" onClick={onDone}>
          {words.done}
        </Button>
      </Group>
    </Stack>
  );
}
