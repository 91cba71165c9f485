import { Group, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { Invitation } from "#contract";
import { call } from "../../api.ts";
import { useAccount, useDenial } from "../../session.ts";
import { teamText as text } from "../../text/team.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";

export function Invitations() {
  const { accountId } = useAccount();
  const invitations = useRead("GET /console/accounts/{accountId}/invitations", {
    params: { accountId },
  });
  if (!invitations.failure && (invitations.data?.data.length ?? 0) === 0) return null;
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {text.invitations}
      </Title>
      <Listing
        label={text.invitations}
        columns={INVITATION_COLUMNS}
        rows={invitations.data?.data}
        rowId={({ invitationId }) => invitationId}
        failure={invitations.failure}
        onRetry={invitations.retry}
        empty={null}
        compact={(invitation) => (
          <Stack gap={6}>
            <Group justify="space-between" wrap="nowrap" gap="xs">
              <Text span size="sm" fw={550} miw={0} style={{ overflowWrap: "anywhere" }}>
                {invitation.forWhom ?? "–"}
              </Text>
              <Text span size="sm" flex="none">
                {text.roles[invitation.role]}
              </Text>
            </Group>
            <Text span size="xs" c="dimmed">
              {text.expires} <Time at={invitation.expiresAt} />
            </Text>
            <Withdraw invitation={invitation} />
          </Stack>
        )}
      />
    </Stack>
  );
}

const INVITATION_COLUMNS: Column<Invitation>[] = [
  {
    name: "forWhom",
    header: text.invitationColumns.forWhom,
    isName: true,
    cell: ({ forWhom }) => forWhom ?? "–",
  },
  { name: "role", header: text.invitationColumns.role, cell: ({ role }) => text.roles[role] },
  {
    name: "by",
    header: text.invitationColumns.by,
    isName: true,
    cell: ({ createdBy }) => createdBy.name,
  },
  {
    name: "expires",
    header: text.invitationColumns.expires,
    cell: ({ expiresAt }) => <Time at={expiresAt} />,
  },
  {
    name: "actions",
    header: text.invitationColumns.actions,
    cell: (invitation) => <Withdraw invitation={invitation} />,
  },
];

function Withdraw({ invitation }: { invitation: Invitation }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const denial = useDenial("owner");
  const { invitationId } = invitation;
  const withdraw = useAction(async () => {
    await call("DELETE /console/accounts/{accountId}/invitations/{invitationId}", {
      params: { accountId, invitationId },
    });
    toast({ title: text.withdrawn, message: text.withdrawnHint });
  });
  async function send(): Promise<void> {
    await withdraw.run(undefined);
    askAgain(client, ["GET /console/accounts/{accountId}/invitations"]);
  }
  return (
    <Stack gap="xs" align="flex-start">
      <RowButton
        reason={denial}
        loading={withdraw.isRunning}
        aria-label={text.withdrawNamed(invitation.forWhom, text.roles[invitation.role])}
        onClick={() => void send()}
      >
        {text.withdraw}
      </RowButton>
      {withdraw.failure && <FailureLine failure={withdraw.failure} />}
    </Stack>
  );
}
