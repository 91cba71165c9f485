import { Button, Code, Group, Modal, type ModalProps, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { holdPage } from "../held-page.ts";
import { shownOnceText as text } from "../text/shown-once.ts";
import { words } from "../text/words.ts";
import { selectContent } from "./copy.ts";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";
import { TellRunning } from "./dialog-form.tsx";
import classes from "./shown-once.module.css";

type GateOptions = { isShown: boolean; isSaved: boolean; onClose: () => void };
type Gate = { close: () => void; dialog: ReactNode; tellRunning: (isRunning: boolean) => void };

/**
 * While something shown once is being made or is not yet saved, every way to close asks first: the
 * buttons, Esc, a click outside, the Back button, and leaving the page.
 */
function useUnsavedGate(options: GateOptions): Gate {
  const { isShown, isSaved, onClose } = options;
  const [isMaking, setIsMaking] = useState(false);
  const [isAsked, setIsAsked] = useState(false);
  const isUnsaved = isMaking || (isShown && !isSaved);
  // Even after copying, another form may be wanted: hold the page until the dialog is closed.
  const isHeld = isMaking || isShown;
  useEffect(() => (isHeld ? holdPage() : undefined), [isHeld]);
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
  const close = () => (isUnsaved ? setIsAsked(true) : onClose());
  const tellRunning = useCallback((isRunning: boolean) => {
    setIsMaking(isRunning);
    // A question asked before this new try is outdated.
    if (isRunning) setIsAsked(false);
  }, []);
  return { close, dialog, tellRunning };
}

type Saving = { onSaved: () => void; onDone: () => void };

type Props<Made> = {
  title: string;
  shownTitle: string;
  size?: ModalProps["size"];
  /** The form that makes it. */
  form: (onMade: (made: Made) => void, onCancel: () => void) => ReactNode;
  /** Shows it, with ways to save it. */
  shown: (made: Made, saving: Saving) => ReactNode;
  onClose: () => void;
};

/** One dialog: first the form, then what it made, shown only now. */
export function ShownOnceDialog<Made>(props: Props<Made>) {
  const { title, shownTitle, size, form, shown, onClose } = props;
  // Kept only here: gone when the dialog closes.
  const [made, setMade] = useState<{ it: Made }>();
  const [isSaved, setIsSaved] = useState(false);
  const gate = useUnsavedGate({ isShown: made !== undefined, isSaved, onClose });
  return (
    <Modal.Stack>
      <Dialog
        onClose={gate.close}
        stackId="shown-once"
        title={made ? shownTitle : title}
        size={size}
      >
        {made ? (
          shown(made.it, { onSaved: () => setIsSaved(true), onDone: gate.close })
        ) : (
          <TellRunning value={gate.tellRunning}>
            {form((it) => setMade({ it }), gate.close)}
          </TellRunning>
        )}
      </Dialog>
      {gate.dialog}
    </Modal.Stack>
  );
}

type LinkDialogProps = Omit<Props<string>, "shownTitle" | "shown"> & {
  text: { linkTitle: string; linkLead: string; link: string };
};

/** The same for making a one-time link. */
export function LinkDialog({ text: says, ...rest }: LinkDialogProps) {
  return (
    <ShownOnceDialog
      {...rest}
      shownTitle={says.linkTitle}
      shown={(link, saving) => (
        <ShownLink lead={says.linkLead} label={says.link} link={link} {...saving} />
      )}
    />
  );
}

type LinkProps = Saving & { lead: string; label: string; link: string };

function ShownLink({ lead, label, link, onSaved, onDone }: LinkProps) {
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
