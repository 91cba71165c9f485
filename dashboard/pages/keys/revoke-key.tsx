import { Code, DataList, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { ApiKey } from "#contract";
import { call } from "../../api.ts";
import { useAccount } from "../../session.ts";
import { revokeKeyText as text } from "../../text/keys.ts";
import { words } from "../../text/words.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import { Dialog } from "../../ui/dialog.tsx";

/** Revoking is irreversible, so the name must be typed; it is urgent, so no proof is required. */
export function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const [before, after] = text.typeName;
  const fields = useFields(
    { name: "" },
    { name: (value) => (asSeen(value) === asSeen(apiKey.name) ? null : text.mismatch) },
  );
  const revoke = useAction(async () => {
    await call("POST /console/accounts/{accountId}/keys/{keyId}/revoke", {
      params: { accountId, keyId: apiKey.keyId },
    });
    askAgain(client, ["GET /console/accounts/{accountId}/keys"]);
    toast({ title: text.done(apiKey.name), message: text.doneHint });
  }, onClose);
  return (
    <Dialog onClose={onClose} title={text.title(apiKey.name)}>
      <DialogForm
        lead={text.consequence}
        action={revoke}
        submit={text.submit}
        isGrave
        onSubmit={fields.submit(() => void revoke.run(undefined))}
        onCancel={onClose}
      >
        <DataList labelWidth="6rem">
          <DataList.Item>
            <DataList.ItemLabel>{text.mask}</DataList.ItemLabel>
            <DataList.ItemValue>
              <code className="mono">{apiKey.mask}</code>
            </DataList.ItemValue>
          </DataList.Item>
          <DataList.Item>
            <DataList.ItemLabel>{text.lastUsed}</DataList.ItemLabel>
            <DataList.ItemValue>
              {apiKey.lastUsedAt ? <Time at={apiKey.lastUsedAt} /> : words.never}
            </DataList.ItemValue>
          </DataList.Item>
        </DataList>
        <TextInput
          label={
            <>
              {before} <Code translate="no">{apiKey.name}</Code> {after}
            </>
          }
          autoComplete="off"
          data-autofocus
          {...fields.getInputProps("name")}
        />
      </DialogForm>
    </Dialog>
  );
}

/** Drops what cannot be seen, and so not typed: repeated spaces and marks of direction. */
function asSeen(name: string): string {
  return name
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
