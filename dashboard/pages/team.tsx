import { Group, Stack, Text } from "@mantine/core";
import { IconUserPlus, IconUsers } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { Member } from "#contract";
import { part } from "../parts.ts";
import { present } from "../search.ts";
import { useAccount, useDenial } from "../session.ts";
import { teamText as text } from "../text/team.ts";
import { words } from "../text/words.ts";
import { Empty } from "../ui/empty.tsx";
import { type Column, Listing } from "../ui/listing.tsx";
import { Page } from "../ui/page.tsx";
import { Pager } from "../ui/pager.tsx";
import { Person } from "../ui/person.tsx";
import { ReasonedButton, RowButton } from "../ui/reasoned.tsx";
import { Time } from "../ui/time.tsx";
import { useCursorFallback } from "../ui/use-cursor-fallback.ts";
import { useRead } from "../use-read.ts";
import { hasAny, Invitations, useInvitations } from "./team/invitations.tsx";
import { Roles } from "./team/roles.tsx";
import { ROUTE } from "./team/search.ts";

const Invite = part(() => import("./team/invite.tsx"), "Invite");
const ChangeRole = part(() => import("./team/member-dialogs.tsx"), "ChangeRole");
const RemoveMember = part(() => import("./team/member-dialogs.tsx"), "RemoveMember");
const LeaveAccount = part(() => import("./team/member-dialogs.tsx"), "LeaveAccount");

type Open = { dialog: "invite" | "leave" } | { dialog: "role" | "remove"; member: Member };

export function TeamPage() {
  const { name } = useAccount();
  const denial = useDenial("owner");
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const invitations = useInvitations();
  const inviteButton = (
    <ReasonedButton
      reason={denial}
      leftSection={<IconUserPlus size={16} aria-hidden />}
      onClick={() => setOpen({ dialog: "invite" })}
    >
      {text.invite}
    </ReasonedButton>
  );
  return (
    <Page title={text.title} about={name} lead={text.lead} hasTimes actions={inviteButton}>
      <Members onOpen={setOpen} hasInvited={hasAny(invitations.data)} />
      <Invitations invitations={invitations} />
      {(invitations.data || invitations.failure) && <Roles />}
      <Suspense>
        {open?.dialog === "invite" && <Invite onClose={close} />}
        {open?.dialog === "leave" && <LeaveAccount onClose={close} />}
        {open?.dialog === "role" && <ChangeRole member={open.member} onClose={close} />}
        {open?.dialog === "remove" && <RemoveMember member={open.member} onClose={close} />}
      </Suspense>
    </Page>
  );
}

type MembersProps = { onOpen: (open: Open) => void; hasInvited: boolean };

function Members({ onOpen, hasInvited }: MembersProps) {
  const { accountId } = useAccount();
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: "/team" });
  const { cursor, limit } = search;
  const members = useRead(
    "GET /console/accounts/{accountId}/members",
    { params: { accountId }, query: present({ cursor, limit: limit && Number(limit) }) },
    { keepsOld: true },
  );
  useCursorFallback(members.failure, () =>
    navigate({ search: ({ cursor: _, ...rest }) => rest, replace: true }),
  );
  const actions = (member: Member) => (
    <MemberActions
      member={member}
      isLastOwner={member.role === "owner" && members.data?.ownerCount === 1}
      onOpen={onOpen}
    />
  );
  const columns: Column<Member>[] = [
    ...COLUMNS,
    { name: "actions", header: text.columns.actions, cell: actions },
  ];
  const isAlone = members.data?.totalCount === 1;
  return (
    <Stack gap="sm">
      <Listing
        label={text.members}
        columns={columns}
        list={members}
        rowId={({ userId }) => userId}
        empty={null}
        compact={(member) => (
          <Stack gap={6}>
            <Group justify="space-between" wrap="nowrap" gap="xs">
              <MemberName member={member} />
              <Text span size="sm" flex="none">
                {text.roles[member.role]}
              </Text>
            </Group>
            <Text span size="xs" c="dimmed">
              {text.columns.secondFactor}: {member.hasSecondFactor ? text.on : text.off} ·{" "}
              {text.columns.lastSeen}: <LastSeen member={member} />
            </Text>
            {actions(member)}
          </Stack>
        )}
      />
      <Pager
        list={members}
        search={search}
        label={text.memberPages}
        onTurn={(turn) => void navigate({ search: present({ ...search, ...turn }) })}
      />
      {isAlone && !hasInvited && (
        <Empty
          icon={<IconUsers aria-hidden />}
          title={text.onlyYou}
          description={text.onlyYouHint}
        />
      )}
    </Stack>
  );
}

function MemberName({ member: { name, email, isYou } }: { member: Member }) {
  return <Person name={name} email={email} mark={isYou ? text.you : undefined} />;
}

const COLUMNS: Column<Member>[] = [
  {
    name: "name",
    header: text.columns.name,
    isName: true,
    cell: (member) => <MemberName member={member} />,
  },
  { name: "role", header: text.columns.role, cell: ({ role }) => text.roles[role] },
  {
    name: "secondFactor",
    header: text.columns.secondFactor,
    cell: ({ hasSecondFactor }) => (hasSecondFactor ? text.on : text.off),
  },
  {
    name: "lastSeen",
    header: text.columns.lastSeen,
    cell: (member) => <LastSeen member={member} />,
  },
];

function LastSeen({ member: { lastSeenAt } }: { member: Member }) {
  return lastSeenAt ? <Time at={lastSeenAt} form="relative" /> : words.never;
}

type ActionsProps = { member: Member; isLastOwner: boolean; onOpen: (open: Open) => void };

function MemberActions({ member, isLastOwner, onOpen }: ActionsProps) {
  const denial = useDenial("owner");
  if (member.isYou) {
    return (
      <Group gap="xs">
        <RowButton
          reason={isLastOwner ? text.lastOwner : undefined}
          onClick={() => onOpen({ dialog: "leave" })}
        >
          {text.leave}
        </RowButton>
      </Group>
    );
  }
  return (
    <Group gap="xs" wrap="nowrap">
      <RowButton
        reason={denial}
        aria-label={text.changeRoleOf(member.name)}
        onClick={() => onOpen({ dialog: "role", member })}
      >
        {text.changeRole}
      </RowButton>
      <RowButton
        reason={denial}
        takesAway
        aria-label={text.removeNamed(member.name)}
        onClick={() => onOpen({ dialog: "remove", member })}
      >
        {text.remove}
      </RowButton>
    </Group>
  );
}
