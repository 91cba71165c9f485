import { Group, Stack } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { type Answer, call } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { part } from "../../parts.ts";
import { operatorText, usersText as text } from "../../text/operator.ts";
import { teamText } from "../../text/team.ts";
import { words } from "../../text/words.ts";
import { type Column, CompactFacts } from "../../ui/listing.tsx";
import { Person } from "../../ui/person.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";
import { queryOf } from "./search.ts";
import { SearchedListing } from "./searched-listing.tsx";

const MakeLink = part(() => import("./make-link.tsx"), "MakeLink");

type User = Answer<"GET /console/operator/users">["data"][number];

export function UsersPage() {
  const search = useSearch({ from: "/signed-in/operator/users" });
  const navigate = useNavigate({ from: "/operator/users" });
  const [resetting, setResetting] = useState<User>();
  const users = useRead(
    "GET /console/operator/users",
    { query: queryOf(search) },
    { keepsOld: true },
  );
  return (
    <>
      <SearchedListing
        label={operatorText.users}
        icon={<IconUsers aria-hidden />}
        found={users}
        search={search}
        onSearch={(wanted, options) => void navigate({ search: wanted, ...options })}
        columns={[...COLUMNS, actionColumn(setResetting)]}
        rowId={({ userId }) => userId}
        compact={(user) => (
          <Stack gap={4}>
            <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
              <UserName user={user} />
              <ResetButton user={user} onReset={setResetting} />
            </Group>
            <CompactFacts
              row={user}
              columns={COLUMNS}
              names={["accounts", "secondFactor", "lastSeen"]}
            />
          </Stack>
        )}
      />
      <Suspense>
        {resetting && <ResetLink user={resetting} onClose={() => setResetting(undefined)} />}
      </Suspense>
    </>
  );
}

function UserName({ user: { name, email, isOperator } }: { user: User }) {
  return <Person name={name} email={email} mark={isOperator ? text.operator : undefined} />;
}

/** For a user in many accounts, more than these are shown only on request. */
const SHOWN_ACCOUNTS = 3;

function AccountNames({ user: { accounts } }: { user: User }) {
  const isMany = accounts.length > SHOWN_ACCOUNTS + 1;
  const shown = isMany ? accounts.slice(0, SHOWN_ACCOUNTS) : accounts;
  const others = accounts.slice(shown.length);
  if (accounts.length === 0) return words.none;
  return (
    <div>
      <Names of={shown} />
      {isMany && (
        <details>
          <summary>{text.moreAccounts(formatNumber(others.length))}</summary>
          <Names of={others} />
        </details>
      )}
    </div>
  );
}

function Names({ of }: { of: User["accounts"] }) {
  return of.map(({ accountId, name }) => <div key={accountId}>{name}</div>);
}

const COLUMNS: Column<User>[] = [
  {
    name: "name",
    header: text.columns.name,
    isName: true,
    cell: (user) => <UserName user={user} />,
  },
  {
    name: "accounts",
    header: text.columns.accounts,
    isName: true,
    cell: (user) => <AccountNames user={user} />,
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
    <RowButton flex="none" aria-label={text.resetNamed(user.name)} onClick={() => onReset(user)}>
      {text.reset}
    </RowButton>
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
  const { userId, name, hasSecondFactor } = user;
  return (
    <MakeLink
      title={text.resetTitle(name)}
      lead={text.resetText}
      submit={text.resetSubmit}
      text={text}
      option={hasSecondFactor ? text.dropSecondFactor : undefined}
      make={(dropSecondFactor) =>
        call("POST /console/operator/users/{userId}/reset-link", {
          params: { userId },
          body: { dropSecondFactor },
        })
      }
      onClose={onClose}
    />
  );
}
