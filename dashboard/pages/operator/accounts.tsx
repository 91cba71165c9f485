import { Button, Group, Stack, Text } from "@mantine/core";
import { IconBuilding, IconPlus } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { OperatorAccount } from "#contract";
import { formatNumber } from "../../format.ts";
import { present } from "../../search.ts";
import { accountsText as text, operatorText } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { Time } from "../../ui/time.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useRead } from "../../use-read.ts";

const BookCredits = lazy(async () => ({
  default: (await import("./book-credits.tsx")).BookCredits,
}));
const CreateAccount = lazy(async () => ({
  default: (await import("./create-account.tsx")).CreateAccount,
}));

export function AccountsPage() {
  const search = useSearch({ from: "/signed-in/operator/accounts" });
  const navigate = useNavigate({ from: "/operator/accounts" });
  const [open, setOpen] = useState<"create" | OperatorAccount>();
  const accounts = useRead(
    "GET /console/operator/accounts",
    {
      query: present({
        q: search.q,
        cursor: search.cursor,
        limit: search.limit && Number(search.limit),
      }),
    },
    { keepsOld: true },
  );
  useCursorFallback(accounts.failure, () => navigate({ search: { q: search.q }, replace: true }));
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <TypedFilter
          isSearch
          label={operatorText.search}
          value={search.q}
          onTyped={(q) => void navigate({ search: present({ q }), replace: true })}
        />
        <ReasonedButton
          reason={undefined}
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => setOpen("create")}
        >
          {text.create}
        </ReasonedButton>
      </Group>
      <Listing
        label={operatorText.accounts}
        columns={[...COLUMNS, actionColumn(setOpen)]}
        rows={accounts.data?.data}
        rowId={({ accountId }) => accountId}
        failure={accounts.failure}
        onRetry={accounts.retry}
        isStale={accounts.isStale}
        empty={
          <Empty
            icon={<IconBuilding aria-hidden />}
            title={operatorText.noMatch}
            description={operatorText.noMatchHint}
          >
            <Button variant="default" onClick={() => void navigate({ search: {} })}>
              {words.clearFilters}
            </Button>
          </Empty>
        }
        compact={(account) => (
          <Group justify="space-between" gap="xs">
            <Stack gap={0}>
              <Text span fw={550}>
                {account.name}
              </Text>
              <Text span size="sm" c="dimmed">
                <Owners account={account} />
              </Text>
            </Stack>
            <Group gap="xs">
              <strong>{formatNumber(account.balance)}</strong>
              <TopUp account={account} onOpen={setOpen} />
            </Group>
          </Group>
        )}
      />
      <Pager
        page={accounts.data}
        search={search}
        onTurn={(turn) => void navigate({ search: present({ ...search, ...turn }) })}
      />
      <Suspense>
        {open === "create" && <CreateAccount onClose={() => setOpen(undefined)} />}
        {open !== undefined && open !== "create" && (
          <BookCredits account={open} onClose={() => setOpen(undefined)} />
        )}
      </Suspense>
    </Stack>
  );
}

function Owners({ account: { owners } }: { account: OperatorAccount }) {
  return owners.length === 0 ? text.noOwner : owners.map(({ name }) => name).join(", ");
}

const COLUMNS: Column<OperatorAccount>[] = [
  { name: "name", header: text.columns.name, isLong: true, cell: ({ name }) => name },
  {
    name: "balance",
    header: text.columns.balance,
    isNumber: true,
    cell: ({ balance }) => formatNumber(balance),
  },
  {
    name: "owners",
    header: text.columns.owners,
    isLong: true,
    cell: (account) => <Owners account={account} />,
  },
  {
    name: "members",
    header: text.columns.members,
    isNumber: true,
    cell: ({ members }) => formatNumber(members),
  },
  {
    name: "created",
    header: text.columns.created,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

type TopUpProps = { account: OperatorAccount; onOpen: (account: OperatorAccount) => void };

function TopUp({ account, onOpen }: TopUpProps) {
  return (
    <ReasonedButton
      reason={undefined}
      variant="default"
      size="compact-sm"
      aria-label={text.topUpNamed(account.name)}
      onClick={() => onOpen(account)}
    >
      {text.topUp}
    </ReasonedButton>
  );
}

function actionColumn(onOpen: (account: OperatorAccount) => void): Column<OperatorAccount> {
  return {
    name: "actions",
    header: text.columns.actions,
    cell: (account) => <TopUp account={account} onOpen={onOpen} />,
  };
}
