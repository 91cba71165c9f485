import { Button, Code, Group, Modal, Stack, Text } from "@mantine/core";
import { IconDownload, IconEye, IconEyeOff } from "@tabler/icons-react";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { curlFor } from "../../samples.ts";
import { useMe } from "../../session.ts";
import { createKeyText as text } from "../../text/keys.ts";
import { selectContent } from "../../ui/copy.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { downloadText } from "../../ui/download.ts";
import type { CreatedKey } from "./create-key.tsx";
import classes from "./shown-key.module.css";

type Props = { created: CreatedKey; onSaved: () => void; onDone: () => void };

/** The full key, this once, with every way to keep it. */
export function ShownKey({ created, onSaved, onDone }: Props) {
  const { publicUrl } = useMe();
  const [isHidden, setIsHidden] = useState(false);
  const shown = useRef<HTMLElement>(null);
  const key = isHidden ? created.mask : created.key;
  const curl = (secret: string) =>
    curlFor({ baseUrl: publicUrl, key: secret, scopes: created.scopes });
  return (
    <Stack gap="md">
      <Text size="sm">{text.shownLead}</Text>
      <Code
        block
        ref={shown}
        className={classes["key"]}
        aria-label={text.key}
        data-testid="shown-key"
        translate="no"
        spellCheck={false}
      >
        {key}
      </Code>
      <Group gap="xs">
        <CopyButton
          text={created.key}
          label={text.copyKey}
          variant="filled"
          autoFocus
          onCopied={onSaved}
          select={() => selectContent(shown.current)}
        />
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => {
            downloadText("posthorn.env", `POSTHORN_API_KEY=${created.key}\n`);
            onSaved();
          }}
        >
          {text.download}
        </Button>
        <Button
          variant="default"
          leftSection={
            isHidden ? <IconEye size={16} aria-hidden /> : <IconEyeOff size={16} aria-hidden />
          }
          onClick={() => setIsHidden(!isHidden)}
        >
          {isHidden ? text.show : text.hide}
        </Button>
      </Group>
      <Stack gap="xs">
        <Text fw={550} size="sm">
          {text.try}
        </Text>
        <Code block tabIndex={0} translate="no" className={classes["sample"]}>
          {curl(key)}
        </Code>
        <Group>
          <CopyButton text={curl(created.key)} label={text.copyCurl} size="xs" onCopied={onSaved} />
        </Group>
      </Stack>
      <Text size="sm" c="dimmed">
        {text.serverOnly}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          {text.done}
        </Button>
      </Group>
    </Stack>
  );
}

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
