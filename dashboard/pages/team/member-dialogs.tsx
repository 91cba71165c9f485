import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Member } from "#contract";
import { call } from "../../api.ts";
import { useProof } from "../../proof.tsx";
import { useAccount } from "../../session.ts";
import { memberText as text, teamText } from "../../text/team.ts";
import { words } from "../../text/words.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { DialogForm } from "../../ui/dialog-form.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import { RoleChoice } from "./invite.tsx";
import { Dialog } from "../../ui/dialog.tsx";

type Props = { member: Member; onClose: () => void };

const MEMBERS = "GET /console/accounts/{accountId}/members";

/** If two owners do this at once, the second is told that somebody else changed it. */
export function ChangeRole({ member, onClose }: Props) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const proof = useProof();
  const [role, setRole] = useState(member.role);
  const { userId, version, name } = member;
  const change = useAction(async () => {
    await proof
      .guard(() =>
        call("PATCH /console/accounts/{accountId}/members/{userId}", {
          params: { accountId, userId },
          body: { version, role },
        }),
      )
      .finally(() => askAgain(client, [MEMBERS]));
    toast({ title: text.roleChanged(name, teamText.roles[role]), message: text.roleHint });
  }, onClose);
  // Saving the same role would still end the member's sessions.
  const send = () => (role === member.role ? onClose() : void change.run(undefined));
  return (
    <Dialog onClose={onClose} title={text.roleTitle(name)}>
      <DialogForm
        lead={text.roleHint}
        action={change}
        submit={teamText.changeRole}
        onSubmit={send}
        onCancel={onClose}
      >
        <RoleChoice role={role} onChange={setRole} />
        {proof.fields}
      </DialogForm>
    </Dialog>
  );
}

export function RemoveMember({ member, onClose }: Props) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const { userId, name, lastSeenAt } = member;
  const remove = useAction(async () => {
    await call("DELETE /console/accounts/{accountId}/members/{userId}", {
      params: { accountId, userId },
    }).finally(() => askAgain(client, [MEMBERS]));
    toast({ title: text.removed(name), message: text.removedHint });
  }, onClose);
  return (
    <Confirm
      title={text.removeTitle(name)}
      consequence={text.removeText}
      submit={teamText.remove}
      action={remove}
      onConfirm={() => void remove.run(undefined)}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        {text.lastSeen} {lastSeenAt ? <Time at={lastSeenAt} /> : words.never}
      </Text>
    </Confirm>
  );
}

export function LeaveAccount({ onClose }: { onClose: () => void }) {
  const { accountId } = useAccount();
  const leave = useAction(async () => {
    await call("POST /console/accounts/{accountId}/leave", { params: { accountId } });
    // Wherever they are by now: the account is no longer theirs.
    location.replace("/");
  });
  return (
    <Confirm
      title={text.leaveTitle}
      consequence={text.leaveText}
      submit={text.leaveSubmit}
      action={leave}
      onConfirm={() => void leave.run(undefined)}
      onClose={onClose}
    />
  );
}
