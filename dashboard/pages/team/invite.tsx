import { Radio, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { MemberRole } from "#contract";
import { call, newIdempotencyKey } from "../../api.ts";
import { useProof } from "../../proof.tsx";
import { useAccount } from "../../session.ts";
import { inviteText as text, teamText } from "../../text/team.ts";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { LinkDialog } from "../../ui/shown-once.tsx";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import { askAgain } from "../../use-read.ts";
import { ROLES } from "../../vocabulary.ts";

/** First asks for the role, then shows the link once. */
export function Invite({ onClose }: { onClose: () => void }) {
  return (
    <LinkDialog
      title={text.title}
      text={text}
      size="lg"
      form={(onMade, onCancel) => <InviteForm onMade={onMade} onCancel={onCancel} />}
      onClose={onClose}
    />
  );
}

type Values = { role: MemberRole; forWhom: string };
type FormProps = { onMade: (link: string) => void; onCancel: () => void };

function InviteForm({ onMade, onCancel }: FormProps) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const proof = useProof();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const fields = useFormFields<Values>(
    `invite ${accountId}`,
    { role: "developer", forWhom: "" },
    {},
  );
  const invite = useAction(async (body: Values) => {
    const invited = await proof.guard(() =>
      call(
        "POST /console/accounts/{accountId}/invitations",
        { params: { accountId }, body },
        { idempotencyKey },
      ),
    );
    askAgain(client, ["GET /console/accounts/{accountId}/invitations"]);
    return invited.link;
  }, onMade);
  return (
    <DialogForm
      action={{ ...invite, failure: fields.general(invite.failure) }}
      submit={text.submit}
      onSubmit={fields.submit(invite.run)}
      onCancel={onCancel}
    >
      <RoleChoice
        role={fields.values.role}
        onChange={(role) => fields.setFieldValue("role", role)}
      />
      <TextInput
        label={text.forWhom}
        description={text.forWhomHint}
        autoComplete="off"
        maxLength={60}
        {...fields.getInputProps("forWhom")}
      />
      {proof.fields}
    </DialogForm>
  );
}

type ChoiceProps = { role: MemberRole; onChange: (role: MemberRole) => void };

export function RoleChoice({ role, onChange }: ChoiceProps) {
  return (
    <Radio.Group label={text.role} value={role} onChange={(value) => onChange(value as MemberRole)}>
      <Stack gap="xs" mt="xs">
        {ROLES.map((each) => (
          <Radio
            key={each}
            value={each}
            label={teamText.roles[each]}
            description={text.roleHints[each]}
            data-autofocus={each === role || undefined}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
