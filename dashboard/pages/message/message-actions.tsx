import { Button, Group, Stack, Text } from "@mantine/core";
import { IconBan, IconRepeat } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ConsoleMessage } from "#contract";
import { call } from "../../api.ts";
import { sendSamples } from "../../samples.ts";
import { useAccount, useDenial, useMe } from "../../session.ts";
import { messageText as text } from "../../text/message.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { ReasonedButton, ReasonedLink } from "../../ui/reasoned.tsx";
import { fieldsOf } from "./fields-of.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import { Dialog } from "../../ui/dialog.tsx";

/** The database puts this in place of texts after REDACT_TEXT_DAYS. */
const REDACTED = "[redacted]";

/** Actions on a message: cancel while it waits, send again, copy as a request. */
export function MessageActions({ shown }: { shown: ConsoleMessage }) {
  const { publicUrl } = useMe();
  const denial = useDenial("developer");
  const { message, isMasked } = shown;
  const gone = message.text === REDACTED ? text.textGone : undefined;
  return (
    <Group gap="xs">
      <CancelButton shown={shown} />
      {(denial !== undefined || !isMasked) && (
        <ReasonedLink
          reason={denial ?? gone}
          link={{ to: "/compose", search: { again: message.messageId } }}
          variant="default"
          leftSection={<IconRepeat size={16} aria-hidden />}
        >
          {text.sendAgain}
        </ReasonedLink>
      )}
      {!isMasked && gone === undefined && (
        <CopyButton text={sendSamples(publicUrl, fieldsOf(shown)).cURL} label={text.copyCurl} />
      )}
      {!isMasked && gone !== undefined && (
        <ReasonedButton reason={gone} variant="default">
          {text.copyCurl}
        </ReasonedButton>
      )}
    </Group>
  );
}

/** While the message waits. If that ends, an open dialog stays, to say so. */
export function CancelButton({ shown }: { shown: ConsoleMessage }) {
  const denial = useDenial("developer");
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      {shown.message.status === "QUEUED" && (
        <ReasonedButton
          reason={denial}
          variant="default"
          leftSection={<IconBan size={16} aria-hidden />}
          onClick={() => setIsAsked(true)}
        >
          {text.cancel}
        </ReasonedButton>
      )}
      {isAsked && <CancelDialog shown={shown} onClose={() => setIsAsked(false)} />}
    </>
  );
}

function CancelDialog({ shown, onClose }: { shown: ConsoleMessage; onClose: () => void }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const { messageId } = shown.message;
  const cancel = useAction(async () => {
    await call("POST /console/accounts/{accountId}/messages/{messageId}/cancel", {
      params: { accountId, messageId },
    }).finally(() =>
      askAgain(client, [
        "GET /console/accounts/{accountId}/messages/{messageId}",
        "GET /console/accounts/{accountId}/messages/{messageId}/events",
      ]),
    );
  }, onClose);
  return (
    <Dialog onClose={onClose} title={text.cancelTitle}>
      <Stack gap="md">
        <Text size="sm">{text.cancelText}</Text>
        {cancel.failure && <FailureLine failure={cancel.failure} />}
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={onClose}>
            {text.keepIt}
          </Button>
          <Button
            color="red.9"
            loading={cancel.isRunning}
            onClick={() => void cancel.run(undefined)}
          >
            {text.cancelConfirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
