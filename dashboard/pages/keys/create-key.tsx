import { Checkbox, Input, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey, Scope } from "#contract";
import { type Answer, call, newIdempotencyKey } from "../../api.ts";
import { checkName } from "../../fields.ts";
import { useProof } from "../../proof.tsx";
import { useAccount } from "../../session.ts";
import { createKeyText as text } from "../../text/keys.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { ShownOnceDialog } from "../../ui/shown-once.tsx";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import { askAgain } from "../../use-read.ts";
import { SCOPES } from "../../vocabulary.ts";
import { ShownKey } from "./shown-key.tsx";

export type CreatedKey = Answer<"POST /console/accounts/{accountId}/keys">;

type Props = {
  /** The key that the new one replaces, whose scopes it takes over. */
  replaces: ApiKey | undefined;
  onClose: () => void;
};

export function CreateKey({ replaces, onClose }: Props) {
  return (
    <ShownOnceDialog<CreatedKey>
      title={replaces ? text.replaceTitle(replaces.name) : text.title}
      shownTitle={text.shownTitle}
      size="lg"
      form={(onMade, onCancel) => (
        <KeyForm replaces={replaces} onCreated={onMade} onCancel={onCancel} />
      )}
      shown={(created, saving) => <ShownKey created={created} {...saving} />}
      onClose={onClose}
    />
  );
}

type Values = { name: string; scopes: Scope[]; expiry: keyof typeof text.expiries };

function KeyForm(props: {
  replaces: ApiKey | undefined;
  onCreated: (created: CreatedKey) => void;
  onCancel: () => void;
}) {
  const { replaces, onCreated, onCancel } = props;
  const { accountId } = useAccount();
  const client = useQueryClient();
  const proof = useProof();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const fields = useFormFields<Values>(
    `create-key ${accountId} ${replaces?.keyId ?? ""}`,
    {
      name: replaces?.name ?? "",
      scopes: replaces?.scopes ?? ["messages:send"],
      expiry: "never",
    },
    {
      name: checkName,
      scopes: (scopes) => (scopes.length === 0 ? text.scopeNeeded : null),
    },
  );

  const create = useAction(async ({ name, scopes, expiry }: Values) => {
    const created = await proof.guard(() =>
      call(
        "POST /console/accounts/{accountId}/keys",
        {
          params: { accountId },
          body: {
            name: name.trim(),
            scopes,
            expiresInDays: expiry === "never" ? null : Number(expiry),
          },
        },
        { idempotencyKey },
      ),
    );
    askAgain(client, ["GET /console/accounts/{accountId}/keys"]);
    return created;
  }, onCreated);
  const { scopes } = fields.values;
  const summary = text.summaries[SCOPES.filter((scope) => scopes.includes(scope)).join(" ")];
  return (
    <DialogForm
      lead={replaces && text.replaceHint(replaces.mask)}
      action={{ ...create, failure: fields.general(create.failure) }}
      submit={text.submit}
      onSubmit={fields.submit(create.run)}
      onCancel={onCancel}
    >
      <TextInput
        label={text.name}
        description={text.nameHint}
        autoComplete="off"
        data-autofocus
        withAsterisk
        {...fields.getInputProps("name")}
      />
      <Checkbox.Group label={text.scopes} {...fields.getInputProps("scopes")}>
        <Stack gap="xs" mt="xs">
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              value={scope}
              label={<code>{scope}</code>}
              description={text.scopeHints[scope]}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <Input.Wrapper label={text.expiry} labelElement="div" id="expiry">
        <SegmentedControl
          fullWidth
          aria-label={text.expiry}
          data={Object.entries(text.expiries).map(([value, label]) => ({ value, label }))}
          {...fields.getInputProps("expiry")}
        />
      </Input.Wrapper>
      <Text size="sm" role="status">
        {summary}
      </Text>
      {proof.fields}
    </DialogForm>
  );
}
