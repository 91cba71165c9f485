import { Group, Switch } from "@mantine/core";
import { IconMessages } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense } from "react";
import { addressOf, type Input } from "../api.ts";
import { nowMs } from "../clock.ts";
import { part } from "../parts.ts";
import { type Bounds, boundsOf } from "../range.ts";
import { type PageSearch, present } from "../search.ts";
import { useAccount, useDenial } from "../session.ts";
import { messagesText as text } from "../text/messages.ts";
import { ClearFilters } from "../ui/clear-filters.tsx";
import { CsvButton } from "../ui/csv-button.tsx";
import { Empty, NoneSoFar } from "../ui/empty.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { Listing } from "../ui/listing.tsx";
import { NewRows } from "../ui/new-rows.tsx";
import { Page } from "../ui/page.tsx";
import { Pager } from "../ui/pager.tsx";
import { ReasonedLink } from "../ui/reasoned.tsx";
import { useBounds } from "../ui/use-bounds.ts";
import { useCursorFallback } from "../ui/use-cursor-fallback.ts";
import { useIsPhone } from "../ui/use-phone.ts";
import { useRead } from "../use-read.ts";
import { MessageFilters, useFiltersInWords } from "./messages/filters.tsx";
import { cleared, isFiltered, type MessagesSearch, withoutMarks } from "./messages/search.ts";
import { COLUMNS, CompactMessage } from "./messages/message-row.tsx";
import { useLiveMessages } from "./messages/use-live-messages.ts";

/** Loaded when first opened, so that the list does not wait for it. */
const MessageDrawer = part(() => import("./messages/message-drawer.tsx"), "MessageDrawer");

const LIST = "GET /console/accounts/{accountId}/messages";

export function MessagesPage() {
  const account = useAccount();
  const search = useSearch({ from: "/signed-in/messages" });
  const navigate = useNavigate({ from: "/messages" });
  const bounds = useBounds(search);
  const input = inputOf(account.accountId, search, bounds);
  const messages = useRead(LIST, input, { keepsOld: true, staysPut: true });
  const isFirstPage = search.cursor === undefined;
  const live = useLiveMessages(messages, input, {
    isFirstPage,
    // Not while a message is open; rows that came meanwhile are added when it closes.
    isLive: search.live === "on" && search.id === undefined,
  });
  const isPhone = useIsPhone();
  const csv = <CsvButton address={() => csvAddress(account.accountId, search)} />;
  const turn = (turned: PageSearch) =>
    void navigate({ search: (old) => present({ ...old, ...turned, at: bounds.at }) });
  const open = (id: string) =>
    void navigate({ search: (old) => ({ ...old, id }), resetScroll: false });
  const isNothingYet =
    messages.data?.data.length === 0 &&
    isFirstPage &&
    !messages.data.nextCursor &&
    !isFiltered(search);
  useCursorFallback(messages.failure, () =>
    navigate({ search: ({ cursor: _, ...rest }) => rest, replace: true }),
  );
  return (
    <Page
      title={text.title}
      about={account.name}
      hasTimes={!isNothingYet}
      actions={!isNothingYet && !isPhone && csv}
    >
      {!isNothingYet && (
        <MessageFilters
          search={search}
          bar={
            <ListBar
              search={search}
              newCount={live.newCount}
              onShowNew={search.range ? bounds.renew : live.showNew}
            />
          }
          csv={csv}
          onChange={(change, isTyping = false) =>
            void navigate({
              search: (old) => present({ ...old, cursor: undefined, ...change }),
              replace: isTyping,
              resetScroll: false,
            })
          }
        />
      )}
      <Listing
        label={text.title}
        columns={COLUMNS}
        list={messages}
        rowId={({ message }) => message.messageId}
        empty={
          <NoMessages
            search={search}
            nextCursor={messages.data?.nextCursor ?? null}
            onFurther={(cursor) => turn({ cursor })}
          />
        }
        compact={(row) => <CompactMessage row={row} />}
        onOpen={({ message }) => open(message.messageId)}
      />
      <Pager list={messages} search={search} onTurn={turn} />
      <Suspense>
        {search.id && (
          <MessageDrawer
            messageId={search.id}
            onClose={() =>
              void navigate({ search: ({ id: _, ...rest }) => rest, resetScroll: false })
            }
          />
        )}
      </Suspense>
    </Page>
  );
}

function inputOf(
  accountId: string,
  search: MessagesSearch,
  { from, to }: Bounds,
): Input<typeof LIST> {
  const { status, errorCode, key, sender, recipient, reference, cursor, limit } = search;
  return {
    params: { accountId },
    query: present({
      status,
      errorCode,
      keyId: key,
      sender,
      recipient: recipient && withoutMarks(recipient),
      reference,
      createdAfter: from,
      createdBefore: to,
      cursor,
      limit: limit && Number(limit),
    }),
  };
}

function csvAddress(accountId: string, search: MessagesSearch): string {
  const { params, query } = inputOf(accountId, search, boundsOf(search, nowMs()));
  const { cursor: _, limit: __, ...filters } = query ?? {};
  return addressOf("GET /console/accounts/{accountId}/messages.csv", { params, query: filters });
}

/** An order number may look like a phone number. */
function asReference({ recipient, cursor: _, ...search }: MessagesSearch): MessagesSearch {
  return present({ ...search, reference: recipient });
}

type BarProps = { search: MessagesSearch; newCount: number; onShowNew: () => void };

function ListBar({ search, newCount, onShowNew }: BarProps) {
  const navigate = useNavigate({ from: "/messages" });
  return (
    <Group justify="flex-end" gap="md" mih={30} role="status">
      <NewRows count={newCount} onShow={onShowNew} />
      {search.cursor === undefined && (
        <Switch
          label={text.live}
          title={text.liveHint}
          checked={search.live === "on"}
          onChange={(event) => {
            const live = event.currentTarget.checked ? ("on" as const) : undefined;
            void navigate({ search: (old) => present({ ...old, live }), resetScroll: false });
          }}
        />
      )}
    </Group>
  );
}

type NoneProps = {
  search: MessagesSearch;
  nextCursor: string | null;
  onFurther: (cursor: string) => void;
};

function NoMessages({ search, nextCursor, onFurther }: NoneProps) {
  const filters = useFiltersInWords(search);
  const denial = useDenial("developer");
  const navigate = useNavigate({ from: "/messages" });
  if (nextCursor !== null) {
    return (
      <NoneSoFar icon={<IconMessages aria-hidden />} onFurther={() => onFurther(nextCursor)} />
    );
  }
  if (isFiltered(search) || search.cursor) {
    return (
      <Empty
        icon={<IconMessages aria-hidden />}
        title={text.noMatch}
        description={filters && text.noMatchOf(filters)}
      >
        {search.recipient && (
          <ButtonLink to="/messages" search={asReference(search)}>
            {text.asReference(search.recipient)}
          </ButtonLink>
        )}
        <ClearFilters onClear={() => void navigate({ search: cleared(search) })} />
      </Empty>
    );
  }
  return (
    <Empty icon={<IconMessages aria-hidden />} title={text.noneYet} description={text.noneYetHint}>
      <ReasonedLink reason={denial} link={{ to: "/compose" }}>
        {text.composeOne}
      </ReasonedLink>
      <ReasonedLink
        reason={denial}
        link={{ to: "/keys", search: { dialog: "create" } }}
        variant="default"
      >
        {text.createKey}
      </ReasonedLink>
    </Empty>
  );
}
