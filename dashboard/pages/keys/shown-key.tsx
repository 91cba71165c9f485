import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconDownload, IconEye, IconEyeOff } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { curlFor } from "../../samples.ts";
import { useMe } from "../../session.ts";
import { createKeyText as text } from "../../text/keys.ts";
import { selectContent } from "../../ui/copy.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { downloadText } from "../../ui/download.ts";
import type { CreatedKey } from "./create-key.tsx";
import classes from "../../ui/shown-once.module.css";

type Props = { created: CreatedKey; onSaved: () => void; onDone: () => void };

/** The full key, shown only now, with every way to save it. */
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
        className={classes["secret"]}
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
          <CopyButton text={curl(created.key)} label={text.copyCurl} onCopied={onSaved} />
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
