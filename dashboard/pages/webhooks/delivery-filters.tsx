import { NativeSelect, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { readId } from "../../search.ts";
import { filterText } from "../../text/messages.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { ChoiceChips } from "../../ui/choice-chips.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { type ActiveFilter, activeFilters, FilterPills } from "../../ui/filter-pills.tsx";
import { NO_RANGE, RangePicker, rangeInWords } from "../../ui/range-picker.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { useIsPhone } from "../../ui/use-phone.ts";
import { useZone } from "../../ui/zone.tsx";
import { DELIVERY_STATES, EVENTS } from "../../vocabulary.ts";
import { readHttpStatus, type WebhooksSearch } from "./search.ts";

type Props = {
  search: WebhooksSearch;
  onChange: (change: Partial<WebhooksSearch>, isTyping?: boolean) => void;
};

const EMPTY = {
  state: undefined,
  event: undefined,
  host: undefined,
  messageId: undefined,
  httpStatus: undefined,
  ...NO_RANGE,
} satisfies Partial<WebhooksSearch>;

export function isFiltered(search: WebhooksSearch): boolean {
  return Object.keys(EMPTY).some((name) => search[name as keyof typeof EMPTY] !== undefined);
}

type FilterProps = Props & {
  /** Shown after the filters; on a phone, beside the button that hides them. */
  bar: ReactNode;
};

export function DeliveryFilters({ search, onChange, bar }: FilterProps) {
  const isPhone = useIsPhone();
  const active = useActive({ search, onChange });
  return (
    <Stack gap="sm">
      <FilterBar
        count={active.length}
        more={
          <ChoiceChips
            label={text.state}
            choices={DELIVERY_STATES}
            chosen={search.state}
            names={text.states}
            onChange={(state) => onChange({ state })}
          />
        }
        last={isPhone && bar}
      >
        <TypedFilter
          label={text.host}
          maxLength={300}
          value={search.host}
          onTyped={(host) => onChange({ host }, true)}
        />
        <NativeSelect
          label={text.event}
          value={search.event?.[0] ?? ""}
          data={[{ value: "", label: text.any }, ...EVENTS]}
          onChange={(event) => {
            const chosen = EVENTS.find((each) => each === event.currentTarget.value);
            onChange({ event: chosen && [chosen] });
          }}
        />
        <TypedFilter
          label={text.messageId}
          value={search.messageId}
          read={readId}
          onTyped={(messageId) => onChange({ messageId }, true)}
        />
        <TypedFilter
          label={text.httpStatus}
          width={110}
          value={search.httpStatus}
          read={readHttpStatus}
          onTyped={(httpStatus) => onChange({ httpStatus }, true)}
        />
        <RangePicker range={search} onChange={(range) => onChange({ ...NO_RANGE, ...range })} />
      </FilterBar>
      <FilterPills filters={active} onClear={() => onChange(EMPTY)} />
      {!isPhone && bar}
    </Stack>
  );
}

function useActive({ search, onChange }: Props): ActiveFilter[] {
  const zone = useZone();
  const { state, event, host, messageId, httpStatus } = search;
  const parts: [name: string, value: string | undefined, without: Partial<WebhooksSearch>][] = [
    [text.state, state?.map((each) => text.states[each]).join(", "), { state: undefined }],
    [text.event, event?.join(", "), { event: undefined }],
    [text.host, host, { host: undefined }],
    [text.messageId, messageId && `…${messageId.slice(-12)}`, { messageId: undefined }],
    [text.httpStatus, httpStatus, { httpStatus: undefined }],
    [filterText.range, rangeInWords(search, zone), NO_RANGE],
  ];
  return activeFilters(parts, onChange);
}
