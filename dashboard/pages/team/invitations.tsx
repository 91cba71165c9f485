import { Group, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Invitation } from "#contract";
import { call } from "../../api.ts";
import { present } from "../../search.ts";
import { useAccount, useDenial } from "../../session.ts";
import { teamText as text } from "../../text/team.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import { ROUTE } from "./search.ts";

export function useInvitations() {
  const { accountId } = useAccount();
  const { invitationsCursor: cursor, invitationsLimit: limit } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: "/team" });
  const invitations = useRead(
    "GET /console/accounts/{accountId}/invitations",
    { params: { accountId }, query: present({ cursor, limit: limit && Number(limit) }) },
    { keepsOld: true },
  );
  useCursorFallback(invitations.failure, () =>
    navigate({ search: ({ invitationsCursor: _, ...rest }) => rest, replace: true }),
  );
  return invitations;
}

type Props = { invitations: ReturnType<typeof useInvitations> };

export function Invitations({ invitations }: Props) {
  const [asked, ask] = useState<Invitation>();
  return (
    <>
      {(invitations.failure || hasAny(invitations.data)) && (
        <InvitationList invitations={invitations} onAsk={ask} />
      )}
      {/* Even if the last one has gone meanwhile: then it says so. */}
      {asked && <Withdraw invitation={asked} onClose={() => ask(undefined)} />}
    </>
  );
}

/** Whether there are invitations, on this page or on one before. */
export function hasAny(page: Props["invitations"]["data"]): boolean {
  return page !== undefined && (page.data.length > 0 || page.previousCursor !== null);
}

type Ask = (invitation: Invitation) => void;

function InvitationList({ invitations, onAsk }: Props & { onAsk: Ask }) {
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: "/team" });
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {text.invitations}
      </Title>
      <Listing
        label={text.invitations}
        columns={invitationColumns(onAsk)}
        list={invitations}
        rowId={({ invitationId }) => invitationId}
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
            <Group>
              <WithdrawButton invitation={invitation} onAsk={onAsk} />
            </Group>
          </Stack>
        )}
      />
      <Pager
        list={invitations}
        search={present({ limit: search.invitationsLimit })}
        label={text.invitationPages}
        onTurn={({ cursor, limit }) =>
          void navigate({
            search: present({ ...search, invitationsCursor: cursor, invitationsLimit: limit }),
          })
        }
      />
    </Stack>
  );
}

const invitationColumns = (onAsk: Ask): Column<Invitation>[] => [
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
    cell: (invitation) => <WithdrawButton invitation={invitation} onAsk={onAsk} />,
  },
];

function named({ forWhom, role }: Invitation): string {
  return text.withdrawNamed(forWhom, text.roles[role]);
}

function WithdrawButton({ invitation, onAsk }: { invitation: Invitation; onAsk: Ask }) {
  const denial = useDenial("owner");
  return (
    <RowButton
      reason={denial}
      takesAway
      aria-label={named(invitation)}
      onClick={() => onAsk(invitation)}
    >
      {text.withdraw}
    </RowButton>
  );
}

function Withdraw({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const { invitationId } = invitation;
  const withdraw = useAction(async () => {
    await call("DELETE /console/accounts/{accountId}/invitations/{invitationId}", {
      params: { accountId, invitationId },
    }).finally(() => askAgain(client, ["GET /console/accounts/{accountId}/invitations"]));
    toast({ title: text.withdrawn, message: text.withdrawnHint });
  }, onClose);
  return (
    <Confirm
      title={`${named(invitation)}?`}
      consequence={text.withdrawText}
      submit={text.withdraw}
      action={withdraw}
      onConfirm={() => void withdraw.run(undefined)}
      onClose={onClose}
    />
  );
}
