import { Group, Stack, Text } from "@mantine/core";
import { IconBuilding, IconPlus } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { OperatorAccount } from "#contract";
import { formatNumber } from "../../format.ts";
import { part } from "../../parts.ts";
import { accountsText as text, operatorText } from "../../text/operator.ts";
import type { Column } from "../../ui/listing.tsx";
import { ReasonedButton, RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";
import { queryOf } from "./search.ts";
import { SearchedListing } from "./searched-listing.tsx";

const BookCredits = part(() => import("./book-credits.tsx"), "BookCredits");
const CreateAccount = part(() => import("./create-account.tsx"), "CreateAccount");

export function AccountsPage() {
  const search = useSearch({ from: "/signed-in/operator/accounts" });
  const navigate = useNavigate({ from: "/operator/accounts" });
  const [open, setOpen] = useState<"create" | OperatorAccount>();
  const accounts = useRead(
    "GET /console/operator/accounts",
    { query: queryOf(search) },
    { keepsOld: true },
  );
  return (
    <>
      <SearchedListing
        label={operatorText.accounts}
        icon={<IconBuilding aria-hidden />}
        found={accounts}
        search={search}
        onSearch={(wanted, options) => void navigate({ search: wanted, ...options })}
        action={
          <ReasonedButton
            reason={undefined}
            leftSection={<IconPlus size={16} aria-hidden />}
            onClick={() => setOpen("create")}
          >
            {text.create}
          </ReasonedButton>
        }
        columns={[...COLUMNS, actionColumn(setOpen)]}
        rowId={({ accountId }) => accountId}
        compact={(account) => (
          <Group justify="space-between" gap="xs">
            <Stack gap={0} miw={0}>
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
      <Suspense>
        {open === "create" && <CreateAccount onClose={() => setOpen(undefined)} />}
        {open !== undefined && open !== "create" && (
          <BookCredits account={open} onClose={() => setOpen(undefined)} />
        )}
      </Suspense>
    </>
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
    <RowButton
      reason={undefined}
      aria-label={text.topUpNamed(account.name)}
      onClick={() => onOpen(account)}
    >
      {text.topUp}
    </RowButton>
  );
}

function actionColumn(onOpen: (account: OperatorAccount) => void): Column<OperatorAccount> {
  return {
    name: "actions",
    header: text.columns.actions,
    cell: (account) => <TopUp account={account} onOpen={onOpen} />,
  };
}
