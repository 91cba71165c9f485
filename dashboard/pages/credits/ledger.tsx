import { Badge, Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { IconCoins, IconDownload } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { LedgerEntry } from "#contract";
import { addressOf } from "../../api.ts";
import { nowMs } from "../../clock.ts";
import { formatNumber, formatSigned } from "../../format.ts";
import { present } from "../../search.ts";
import { useAccount } from "../../session.ts";
import { creditsText as text } from "../../text/credits.ts";
import { words } from "../../text/words.ts";
import { ChoiceChips } from "../../ui/choice-chips.tsx";
import { ClearFilters } from "../../ui/clear-filters.tsx";
import { Empty, NoneSoFar } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { FilterPills } from "../../ui/filter-pills.tsx";
import { TextLink } from "../../ui/link.tsx";
import { type Column, CompactFacts, Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { Time } from "../../ui/time.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useIsPhone } from "../../ui/use-phone.ts";
import { useRead } from "../../use-read.ts";
import { LEDGER_KINDS } from "../../vocabulary.ts";
import { ledgerMonths, monthOf } from "./months.ts";
import type { CreditsSearch } from "./search.ts";

export function Ledger() {
  const { accountId } = useAccount();
  const search = useSearch({ from: "/signed-in/credits" });
  const navigate = useNavigate({ from: "/credits" });
  const ledger = useRead(
    "GET /console/accounts/{accountId}/ledger",
    {
      params: { accountId },
      query: present({
        kind: search.kind,
        month: search.month,
        messageId: search.messageId,
        cursor: search.cursor,
        limit: search.limit && Number(search.limit),
      }),
    },
    { keepsOld: true },
  );
  const isNothingYet = ledger.data?.data.length === 0 && !isFiltered(search);
  useCursorFallback(ledger.failure, () =>
    navigate({ search: ({ cursor: _, ...rest }) => rest, replace: true }),
  );
  return (
    <Stack gap="md">
      {!isNothingYet && <LedgerFilters />}
      <Listing
        label={text.title}
        columns={COLUMNS}
        list={ledger}
        rowId={({ seq }) => String(seq)}
        empty={<NoEntries search={search} nextCursor={ledger.data?.nextCursor ?? null} />}
        compact={(row) => <CompactEntry row={row} />}
      />
      <Pager
        list={ledger}
        search={search}
        onTurn={(turn) => void navigate({ search: (old) => present({ ...old, ...turn }) })}
      />
    </Stack>
  );
}

function LedgerFilters() {
  const { accountId } = useAccount();
  const search = useSearch({ from: "/signed-in/credits" });
  const navigate = useNavigate({ from: "/credits" });
  const change = (changed: Partial<CreditsSearch>) =>
    void navigate({
      search: (old) => present({ ...old, cursor: undefined, ...changed }),
      resetScroll: false,
    });
  const account = useRead("GET /console/accounts/{accountId}", { params: { accountId } });
  const months = ledgerMonths(account.data?.createdAt, search.month, nowMs());
  const csvMonth = search.month ?? monthOf(nowMs());
  const isPhone = useIsPhone();
  const csv = (
    <Button
      component="a"
      download
      href={addressOf("GET /console/accounts/{accountId}/ledger.csv", {
        params: { accountId },
        query: { month: csvMonth },
      })}
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
    >
      {text.csvOf(monthInWords(csvMonth))}
    </Button>
  );
  return (
    <Stack gap="sm">
      <FilterBar
        count={[search.month, search.kind, search.messageId].filter(Boolean).length}
        more={isPhone && csv}
        last={!isPhone && csv}
      >
        <Group align="flex-end" gap="md">
          <NativeSelect
            label={text.month}
            value={search.month ?? ""}
            data={[
              { value: "", label: text.allMonths },
              ...months.map((value) => ({ value, label: monthInWords(value) })),
            ]}
            onChange={(event) => change({ month: event.currentTarget.value || undefined })}
          />
          <ChoiceChips
            label={text.kind}
            choices={LEDGER_KINDS}
            chosen={search.kind}
            names={text.kinds}
            onChange={(kind) => change({ kind })}
            mih={36}
          />
        </Group>
      </FilterBar>
      {search.messageId && (
        <FilterPills
          filters={[
            {
              name: "message",
              label: `${text.messageFilter}: …${search.messageId.slice(-12)}`,
              onRemove: () => change({ messageId: undefined }),
            },
          ]}
          onClear={() => change({ messageId: undefined, kind: undefined, month: undefined })}
        />
      )}
    </Stack>
  );
}

const monthNames = new Intl.DateTimeFormat("en-GB", {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

/** 2026-11 becomes November 2026. */
function monthInWords(month: string): string {
  return monthNames.format(new Date(`${month}-01T00:00:00Z`));
}

const KIND_COLOR: Record<LedgerEntry["kind"], string> = {
  charge: "gray",
  refund: "blue",
  topup: "teal",
  adjustment: "violet",
};

function Kind({ kind }: { kind: LedgerEntry["kind"] }) {
  return (
    <Badge variant="dot" color={KIND_COLOR[kind]}>
      {text.kinds[kind]}
    </Badge>
  );
}

function About({ row: { messageId, note } }: { row: LedgerEntry }) {
  if (messageId === null) return note;
  return (
    <TextLink
      to="/messages/$messageId"
      params={{ messageId }}
      className="mono"
      aria-label={text.openMessage(messageId)}
    >
      …{messageId.slice(-12)}
    </TextLink>
  );
}

const COLUMNS: Column<LedgerEntry>[] = [
  { name: "at", header: text.columns.at, cell: ({ at }) => <Time at={at} /> },
  { name: "kind", header: text.columns.kind, cell: ({ kind }) => <Kind kind={kind} /> },
  {
    name: "amount",
    header: text.columns.amount,
    isNumber: true,
    cell: ({ amount }) => <strong>{formatSigned(amount)}</strong>,
  },
  {
    name: "after",
    header: text.columns.after,
    isNumber: true,
    cell: ({ balanceAfter }) => formatNumber(balanceAfter),
  },
  { name: "about", header: text.columns.about, isLong: true, cell: (row) => <About row={row} /> },
  {
    name: "actor",
    header: text.columns.actor,
    isName: true,
    cell: ({ actor }) =>
      actor?.name ?? (
        <Text span inherit c="dimmed" title={text.byItself}>
          {words.product}
        </Text>
      ),
  },
];

function CompactEntry({ row }: { row: LedgerEntry }) {
  return (
    <Stack gap={4}>
      <Group justify="space-between" wrap="nowrap">
        <Kind kind={row.kind} />
        <strong>{formatSigned(row.amount)}</strong>
      </Group>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text span size="sm">
          <Time at={row.at} />
        </Text>
        <Text span size="sm" truncate>
          <About row={row} />
        </Text>
      </Group>
      <CompactFacts
        row={row}
        columns={COLUMNS}
        names={row.actor ? ["after", "actor"] : ["after"]}
      />
    </Stack>
  );
}

function isFiltered({ kind, month, messageId, cursor }: CreditsSearch): boolean {
  return [kind, month, messageId, cursor].some(Boolean);
}

function NoEntries({ search, nextCursor }: { search: CreditsSearch; nextCursor: string | null }) {
  const navigate = useNavigate({ from: "/credits" });
  if (nextCursor !== null) {
    return (
      <NoneSoFar
        icon={<IconCoins aria-hidden />}
        onFurther={() => void navigate({ search: { ...search, cursor: nextCursor } })}
      />
    );
  }
  if (!isFiltered(search)) {
    return (
      <Empty icon={<IconCoins aria-hidden />} title={text.noneYet} description={text.noneYetHint} />
    );
  }
  return (
    <Empty icon={<IconCoins aria-hidden />} title={text.noMatch} description={text.noMatchHint}>
      <ClearFilters onClear={() => void navigate({ search: {} })} />
    </Empty>
  );
}
