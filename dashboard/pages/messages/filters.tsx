import { Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Failure } from "../../failure.ts";
import { useAccount, useDenial } from "../../session.ts";
import { filterText, messagesText as text } from "../../text/messages.ts";
import { ChoiceChips } from "../../ui/choice-chips.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { type ActiveFilter, activeFilters, FilterPills } from "../../ui/filter-pills.tsx";
import { NO_RANGE, RangePicker, rangeInWords } from "../../ui/range-picker.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { useIsPhone } from "../../ui/use-phone.ts";
import { useTyped } from "../../ui/use-typed.ts";
import { useZone } from "../../ui/zone.tsx";
import { useRead } from "../../use-read.ts";
import { ERROR_CODES, STATUSES } from "../../vocabulary.ts";
import { type MessagesSearch, NO_FILTERS, recognise } from "./search.ts";

type Props = {
  search: MessagesSearch;
  /** A changed filter starts at the first page. Typing replaces the address, clicks add one. */
  onChange: (change: Partial<MessagesSearch>, isTyping?: boolean) => void;
};

type FilterProps = Props & {
  /** Shown beside the statuses; on a phone, beside the button that hides them. */
  bar: ReactNode;
  /** On a phone, hidden behind that button. */
  csv: ReactNode;
};

export function MessageFilters({ search, onChange, bar, csv }: FilterProps) {
  const { names: keys, failure } = useKeyNames();
  const isPhone = useIsPhone();
  const active = useActiveFilters({ search, onChange }, keys);
  return (
    <Stack gap="sm">
      <FilterBar
        first={<SearchBox search={search} onChange={onChange} />}
        count={active.length}
        more={
          <Group justify="space-between" gap="sm">
            <ChoiceChips
              label={text.status}
              choices={STATUSES}
              chosen={search.status}
              onChange={(status) => onChange({ status })}
            />
            {isPhone ? csv : bar}
          </Group>
        }
        last={isPhone && bar}
      >
        <RangePicker range={search} onChange={(range) => onChange({ ...NO_RANGE, ...range })} />
        <NativeSelect
          label={text.errorCode}
          w={{ sm: 190 }}
          value={search.errorCode?.[0] ?? ""}
          data={[{ value: "", label: text.any }, ...ERROR_CODES]}
          onChange={(event) => {
            const code = ERROR_CODES.find((each) => each === event.currentTarget.value);
            onChange({ errorCode: code && [code] });
          }}
        />
        <NativeSelect
          label={text.key}
          w={{ sm: 150 }}
          error={failure?.message}
          value={search.key ?? ""}
          data={[
            { value: "", label: text.any },
            { value: "console", label: text.fromConsole },
            ...[...keys].map(([value, label]) => ({ value, label })),
            ...notAmong(keys, search.key),
          ]}
          onChange={(event) => onChange({ key: event.currentTarget.value || undefined })}
        />
        <TypedFilter
          label={text.sender}
          width={140}
          maxLength={20}
          value={search.sender}
          onTyped={(sender) => onChange({ sender }, true)}
        />
      </FilterBar>
      <FilterPills filters={active} onClear={() => onChange(NO_FILTERS)} />
    </Stack>
  );
}

/** One box for an id, a number or a reference; it recognizes what was typed, and says so. */
function SearchBox({ search, onChange }: Props) {
  const seesNumbers = useDenial("developer") === undefined;
  const [typed, type] = useTyped({
    value: search.recipient ?? search.reference,
    read: (value) => {
      const { recipient, reference } = searchOf(value, seesNumbers);
      return recipient ?? reference;
    },
    onTyped: (value) => onChange(searchOf(value, seesNumbers), true),
  });
  const wanted = typed === search.reference ? "reference" : recognise(typed, seesNumbers)?.kind;
  const named =
    wanted &&
    {
      id: text.foundId,
      recipient: text.foundRecipient,
      reference: text.foundReference,
    }[wanted];
  return (
    <TextInput
      type="search"
      label={text.search}
      placeholder={seesNumbers ? text.searchHint : text.maskedSearchHint}
      w={{ sm: 340 }}
      value={typed}
      maxLength={128}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSectionWidth={96}
      rightSection={
        named && (
          <Text span size="xs" c="dimmed" role="status">
            {named}
          </Text>
        )
      }
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}

function searchOf(
  typed: string,
  seesNumbers: boolean,
): Pick<MessagesSearch, "recipient" | "reference" | "id"> {
  const found = recognise(typed, seesNumbers);
  return {
    recipient: found?.kind === "recipient" ? found.recipient : undefined,
    reference: found?.kind === "reference" ? found.reference : undefined,
    id: found?.kind === "id" ? found.id : undefined,
  };
}

function useKeyNames(): { names: Map<string, string>; failure: Failure | undefined } {
  const { accountId } = useAccount();
  const keys = useRead("GET /console/accounts/{accountId}/keys", {
    params: { accountId },
    query: { limit: 100 },
  });
  const names = new Map(keys.data?.data.map(({ keyId, name }) => [keyId, name]));
  return { names, failure: keys.data ? undefined : keys.failure };
}

/** The chosen key if it is older than those listed: otherwise the box would say "Any". */
function notAmong(keys: Map<string, string>, key: string | undefined): string[] {
  return key === undefined || key === "console" || keys.has(key) ? [] : [key];
}

function useActiveFilters({ search, onChange }: Props, keys: Map<string, string>): ActiveFilter[] {
  const zone = useZone();
  const { status, errorCode, key, sender, recipient, reference } = search;
  const parts: [name: string, value: string | undefined, without: Partial<MessagesSearch>][] = [
    [text.status, status?.join(", "), { status: undefined }],
    [text.errorCode, errorCode?.join(", "), { errorCode: undefined }],
    [text.key, keyName(key, keys), { key: undefined }],
    [text.sender, sender, { sender: undefined }],
    [text.foundRecipient, recipient, { recipient: undefined }],
    [text.foundReference, reference, { reference: undefined }],
    [filterText.range, rangeInWords(search, zone), NO_RANGE],
  ];
  return activeFilters(parts, onChange);
}

function keyName(key: string | undefined, keys: Map<string, string>): string | undefined {
  return key === "console" ? text.fromConsole : key && (keys.get(key) ?? key);
}

/** The filters as one phrase, for "no match". */
export function useFiltersInWords(search: MessagesSearch): string {
  const zone = useZone();
  const { names: keys } = useKeyNames();
  const { status, errorCode, key, sender, recipient, reference } = search;
  return [
    status?.join(" or "),
    errorCode?.join(" or "),
    keyName(key, keys),
    sender,
    recipient,
    reference,
    rangeInWords(search, zone),
  ]
    .filter(Boolean)
    .join(", ");
}
