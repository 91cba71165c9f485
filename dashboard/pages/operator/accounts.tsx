import { Button, Group, Stack, Text } from "@mantine/core";
import { IconBuilding, IconPlus } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { OperatorAccount } from "#contract";
import { call } from "../../api.ts";
import { countOf, formatNumber } from "../../format.ts";
import { part } from "../../parts.ts";
import { accountsText as text, operatorText } from "../../text/operator.ts";
import { type Column, CompactFacts } from "../../ui/listing.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { useRead } from "../../use-read.ts";
import { queryOf } from "./search.ts";
import { SearchedListing } from "./searched-listing.tsx";

const BookCredits = part(() => import("./book-credits.tsx"), "BookCredits");
const CreateAccount = part(() => import("./create-account.tsx"), "CreateAccount");
const MakeLink = part(() => import("./make-link.tsx"), "MakeLink");

type Open = { dialog: "book" | "owner"; account: OperatorAccount };

export function AccountsPage() {
  const search = useSearch({ from: "/signed-in/operator/accounts" });
  const navigate = useNavigate({ from: "/operator/accounts" });
  const [isCreating, setIsCreating] = useState(false);
  const [open, setOpen] = useState<Open>();
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
          <Button
            leftSection={<IconPlus size={16} aria-hidden />}
            onClick={() => setIsCreating(true)}
          >
            {text.create}
          </Button>
        }
        columns={[...COLUMNS, actionColumn(setOpen)]}
        rowId={({ accountId }) => accountId}
        compact={(account) => (
          <Stack gap={4}>
            <Group justify="space-between" gap="xs" wrap="nowrap" align="baseline">
              <Text span fw={550} miw={0} style={{ overflowWrap: "anywhere" }}>
                {account.name}
              </Text>
              <Text span size="sm" flex="none">
                {countOf(account.balance, "credit")}
              </Text>
            </Group>
            <Text span size="sm" c="dimmed">
              {text.owner}: <Owners account={account} />
            </Text>
            <CompactFacts row={account} columns={COLUMNS} names={["members", "created"]} />
            <Group gap="xs">
              <Actions account={account} onOpen={setOpen} />
            </Group>
          </Stack>
        )}
      />
      <Suspense>
        {isCreating && <CreateAccount onClose={() => setIsCreating(false)} />}
        {open?.dialog === "book" && (
          <BookCredits account={open.account} onClose={() => setOpen(undefined)} />
        )}
        {open?.dialog === "owner" && (
          <OwnerLink account={open.account} onClose={() => setOpen(undefined)} />
        )}
      </Suspense>
    </>
  );
}

function Owners({ account: { owners } }: { account: OperatorAccount }) {
  return owners.length === 0 ? text.noOwner : owners.map(({ name }) => name).join(", ");
}

const COLUMNS: Column<OperatorAccount>[] = [
  { name: "name", header: text.columns.name, isName: true, cell: ({ name }) => name },
  {
    name: "balance",
    header: text.columns.balance,
    isNumber: true,
    cell: ({ balance }) => formatNumber(balance),
  },
  {
    name: "owners",
    header: text.columns.owners,
    isName: true,
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
    from: 1280,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

type ActionsProps = { account: OperatorAccount; onOpen: (open: Open) => void };

function Actions({ account, onOpen }: ActionsProps) {
  return (
    <>
      {account.owners.length === 0 && (
        <RowButton
          aria-label={text.ownerLinkNamed(account.name)}
          onClick={() => onOpen({ dialog: "owner", account })}
        >
          {text.ownerLink}
        </RowButton>
      )}
      <RowButton
        aria-label={text.topUpNamed(account.name)}
        onClick={() => onOpen({ dialog: "book", account })}
      >
        {text.topUp}
      </RowButton>
    </>
  );
}

function actionColumn(onOpen: (open: Open) => void): Column<OperatorAccount> {
  return {
    name: "actions",
    header: text.columns.actions,
    cell: (account) => (
      <Group gap="xs" wrap="nowrap">
        <Actions account={account} onOpen={onOpen} />
      </Group>
    ),
  };
}

function OwnerLink({ account, onClose }: { account: OperatorAccount; onClose: () => void }) {
  const { accountId, name } = account;
  return (
    <MakeLink
      title={text.ownerLinkTitle(name)}
      lead={text.ownerLinkText}
      submit={text.ownerLinkSubmit}
      text={text}
      make={() =>
        call("POST /console/operator/accounts/{accountId}/owner-link", { params: { accountId } })
      }
      onClose={onClose}
    />
  );
}
