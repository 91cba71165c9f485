import { Button, Group, Modal, Radio, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { MemberRole } from "#contract";
import { call, newIdempotencyKey } from "../../api.ts";
import { isProofFailure, useProof } from "../../proof.tsx";
import { useAccount } from "../../session.ts";
import { inviteText as text, teamText } from "../../text/team.ts";
import { words } from "../../text/words.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { ShownLink, useUnsavedGate } from "../../ui/shown-once.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import { ROLES } from "../../vocabulary.ts";
import { Dialog } from "../../ui/dialog.tsx";

/** First the role, then the link, shown once. */
export function Invite({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [isSaved, setIsSaved] = useState(false);
  const gate = useUnsavedGate({ isUnsaved: link !== undefined && !isSaved, onClose });
  return (
    <Modal.Stack>
      <Dialog
        onClose={gate.close}
        stackId="invite"
        title={link ? text.linkTitle : text.title}
        size="lg"
      >
        {link ? (
          <ShownLink
            lead={text.linkLead}
            label={text.link}
            link={link}
            onSaved={() => setIsSaved(true)}
            onDone={gate.close}
          />
        ) : (
          <InviteForm onMade={setLink} onCancel={onClose} />
        )}
      </Dialog>
      {gate.dialog}
    </Modal.Stack>
  );
}

function InviteForm({
  onMade,
  onCancel,
}: {
  onMade: (link: string) => void;
  onCancel: () => void;
}) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const proof = useProof();
  const [role, setRole] = useState<MemberRole>("developer");
  const [idempotencyKey] = useState(newIdempotencyKey);
  const invite = useAction(() =>
    proof.guard(() =>
      call(
        "POST /console/accounts/{accountId}/invitations",
        { params: { accountId }, body: { role } },
        { idempotencyKey },
      ),
    ),
  );
  async function send(): Promise<void> {
    const outcome = await invite.run(undefined);
    if (!outcome?.ok) return;
    askAgain(client, ["GET /console/accounts/{accountId}/invitations"]);
    onMade(outcome.result.link);
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      noValidate
    >
      <Stack gap="md">
        {invite.failure && !isProofFailure(invite.failure) && (
          <FailureLine failure={invite.failure} />
        )}
        <RoleChoice role={role} onChange={setRole} />
        {proof.fields}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={invite.isRunning}>
            {text.submit}
          </Button>
        </Group>
      </Stack>
    </form>
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
