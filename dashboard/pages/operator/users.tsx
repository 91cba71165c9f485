import { Badge, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type Answer, call } from "../../api.ts";
import { isProofFailure, useProof } from "../../proof.tsx";
import { present } from "../../search.ts";
import { operatorText, usersText as text } from "../../text/operator.ts";
import { teamText } from "../../text/team.ts";
import { words } from "../../text/words.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { ShownLink, useUnsavedGate } from "../../ui/shown-once.tsx";
import { Time } from "../../ui/time.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useAction } from "../../use-action.ts";
import { useRead } from "../../use-read.ts";

type User = Answer<"GET /console/operator/users">["data"][number];

export function UsersPage() {
  const search = useSearch({ from: "/signed-in/operator/users" });
  const navigate = useNavigate({ from: "/operator/users" });
  const [resetting, setResetting] = useState<User>();
  const users = useRead(
    "GET /console/operator/users",
    {
      query: present({
        q: search.q,
        cursor: search.cursor,
        limit: search.limit && Number(search.limit),
      }),
    },
    { keepsOld: true },
  );
  useCursorFallback(users.failure, () => navigate({ search: { q: search.q }, replace: true }));
  return (
    <Stack gap="md">
      <TypedFilter
        isSearch
        label={operatorText.search}
        value={search.q}
        onTyped={(q) => void navigate({ search: present({ q }), replace: true })}
      />
      <Listing
        label={operatorText.users}
        columns={[...COLUMNS, actionColumn(setResetting)]}
        rows={users.data?.data}
        rowId={({ userId }) => userId}
        failure={users.failure}
        onRetry={users.retry}
        isStale={users.isStale}
        empty={
          <Empty
            icon={<IconUsers aria-hidden />}
            title={operatorText.noMatch}
            description={operatorText.noMatchHint}
          >
            <Button variant="default" onClick={() => void navigate({ search: {} })}>
              {words.clearFilters}
            </Button>
          </Empty>
        }
        compact={(user) => (
          <Group justify="space-between" gap="xs">
            <Person user={user} />
            <ResetButton user={user} onReset={setResetting} />
          </Group>
        )}
      />
      <Pager
        page={users.data}
        search={search}
        onTurn={(turn) => void navigate({ search: present({ ...search, ...turn }) })}
      />
      {resetting && <ResetLink user={resetting} onClose={() => setResetting(undefined)} />}
    </Stack>
  );
}

function Person({ user: { name, email, isOperator } }: { user: User }) {
  return (
    <Stack gap={0}>
      <Text span size="sm" fw={550}>
        {name}{" "}
        {isOperator && (
          <Badge variant="outline" size="xs" color="gray" c="dimmed">
            {text.operator}
          </Badge>
        )}
      </Text>
      <Text span size="xs" c="dimmed">
        {email}
      </Text>
    </Stack>
  );
}

const COLUMNS: Column<User>[] = [
  { name: "name", header: text.columns.name, cell: (user) => <Person user={user} /> },
  {
    name: "accounts",
    header: text.columns.accounts,
    isLong: true,
    cell: ({ accounts }) => accounts.map(({ name }) => name).join(", ") || words.none,
  },
  {
    name: "secondFactor",
    header: text.columns.secondFactor,
    cell: ({ hasSecondFactor }) => (hasSecondFactor ? teamText.on : teamText.off),
  },
  {
    name: "lastSeen",
    header: text.columns.lastSeen,
    cell: ({ lastSeenAt }) => (lastSeenAt ? <Time at={lastSeenAt} form="relative" /> : words.never),
  },
];

function ResetButton({ user, onReset }: { user: User; onReset: (user: User) => void }) {
  return (
    <ReasonedButton
      reason={undefined}
      variant="default"
      size="compact-sm"
      aria-label={text.resetNamed(user.name)}
      onClick={() => onReset(user)}
    >
      {text.reset}
    </ReasonedButton>
  );
}

function actionColumn(onReset: (user: User) => void): Column<User> {
  return {
    name: "actions",
    header: text.columns.actions,
    cell: (user) => <ResetButton user={user} onReset={onReset} />,
  };
}

function ResetLink({ user, onClose }: { user: User; onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [isSaved, setIsSaved] = useState(false);
  const gate = useUnsavedGate({ isUnsaved: link !== undefined && !isSaved, onClose });
  if (link === undefined) return <ResetForm user={user} onMade={setLink} onClose={onClose} />;
  return (
    <Modal.Stack>
      <Dialog onClose={gate.close} stackId="reset-link" title={text.linkTitle}>
        <ShownLink
          lead={text.linkLead}
          label={text.link}
          link={link}
          onSaved={() => setIsSaved(true)}
          onDone={gate.close}
        />
      </Dialog>
      {gate.dialog}
    </Modal.Stack>
  );
}

type ResetProps = { user: User; onMade: (link: string) => void; onClose: () => void };

function ResetForm({ user: { userId, name }, onMade, onClose }: ResetProps) {
  const proof = useProof();
  const make = useAction(() =>
    proof.guard(() =>
      call("POST /console/operator/users/{userId}/reset-link", { params: { userId } }),
    ),
  );
  async function send(): Promise<void> {
    const outcome = await make.run(undefined);
    if (outcome?.ok) onMade(outcome.result.link);
  }
  return (
    <Confirm
      title={text.resetTitle(name)}
      consequence={text.resetText}
      submit={text.resetSubmit}
      isRunning={make.isRunning}
      failure={isProofFailure(make.failure) ? undefined : make.failure}
      onConfirm={() => void send()}
      onClose={onClose}
    >
      {proof.fields}
    </Confirm>
  );
}
