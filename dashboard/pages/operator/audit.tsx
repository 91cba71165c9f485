import { Stack, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { AuditEntry } from "#contract";
import { addressOf } from "../../api.ts";
import { nowMs } from "../../clock.ts";
import { type Bounds, boundsOf } from "../../range.ts";
import { present } from "../../search.ts";
import { auditText as text, operatorText } from "../../text/operator.ts";
import { ClearFilters } from "../../ui/clear-filters.tsx";
import { CsvButton } from "../../ui/csv-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { NO_RANGE, RangePicker } from "../../ui/range-picker.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { useBounds } from "../../ui/use-bounds.ts";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useZone } from "../../ui/zone.tsx";
import { useRead } from "../../use-read.ts";
import type { Telling } from "./audit-details.ts";
import { CompactEntry, entryColumns } from "./audit-entry.tsx";
import classes from "./operator.module.css";
import type { AuditSearch } from "./search.ts";

export function AuditPage() {
  const search = useSearch({ from: "/signed-in/operator/audit" });
  const navigate = useNavigate({ from: "/operator/audit" });
  const bounds = useBounds(search);
  const filters = filtersOf(search, bounds);
  const audit = useRead(
    "GET /console/operator/audit",
    {
      query: present({
        ...filters,
        cursor: search.cursor,
        limit: search.limit && Number(search.limit),
      }),
    },
    { keepsOld: true },
  );
  const change = (changed: Partial<AuditSearch>, isTyping = false) =>
    void navigate({
      search: (old) => present({ ...old, cursor: undefined, ...changed }),
      replace: isTyping,
      resetScroll: false,
    });
  const telling = useTelling(audit.data?.data);
  useCursorFallback(audit.failure, () => change({}, true));
  return (
    <Stack gap="md">
      <Text c="dimmed" size="sm">
        {text.lead}
      </Text>
      <FilterBar
        count={countFilters(search)}
        last={<CsvButton address={() => csvAddress(search)} />}
      >
        <TypedFilter
          isSearch
          label={text.action}
          example={text.actionExample}
          value={search.action}
          onTyped={(action) => change({ action }, true)}
        />
        <TypedFilter
          label={text.actor}
          example={text.actorExample}
          maxLength={100}
          value={search.actor}
          onTyped={(actor) => change({ actor }, true)}
        />
        <RangePicker range={search} onChange={(range) => change({ ...NO_RANGE, ...range })} />
      </FilterBar>
      <div className={classes["entries"]}>
        <Listing
          label={operatorText.audit}
          columns={entryColumns(telling)}
          list={audit}
          rowId={({ auditId }) => auditId}
          empty={<NoEntries search={search} onClear={() => void navigate({ search: {} })} />}
          compact={(entry) => <CompactEntry entry={entry} telling={telling} />}
        />
      </div>
      <Pager
        list={audit}
        search={search}
        onTurn={(turn) =>
          void navigate({ search: (old) => present({ ...old, ...turn, at: bounds.at }) })
        }
      />
    </Stack>
  );
}

/** Routes are shown with carriers' names, but the log has only their ids. */
function useTelling(entries: AuditEntry[] = []): Telling {
  const zone = useZone();
  const isOn = entries.some(({ action }) => action.startsWith("route."));
  const carriers = useRead("GET /console/operator/carriers", {}, { isOn });
  const named = carriers.data?.data ?? [];
  return { zone, names: new Map(named.map(({ carrierId, name }) => [carrierId, name])) };
}

function countFilters({ action, actor, accountId, objectId, range, from }: AuditSearch) {
  return [action, actor, accountId, objectId, range ?? from].filter(Boolean).length;
}

function filtersOf(search: AuditSearch, { from, to }: Bounds) {
  const { action, actor, accountId, objectId } = search;
  return present({
    action: action === undefined ? undefined : [action],
    actor,
    accountId,
    objectId,
    after: from,
    before: to,
  });
}

function csvAddress(search: AuditSearch): string {
  const query = filtersOf(search, boundsOf(search, nowMs()));
  return addressOf("GET /console/operator/audit.csv", { query });
}

function NoEntries({ search, onClear }: { search: AuditSearch; onClear: () => void }) {
  const isFiltered = Object.keys(search).some((name) => !["account", "limit"].includes(name));
  if (!isFiltered) {
    return (
      <Empty
        icon={<IconHistory aria-hidden />}
        title={text.noneYet}
        description={text.noneYetHint}
      />
    );
  }
  return (
    <Empty icon={<IconHistory aria-hidden />} title={text.noMatch} description={text.noMatchHint}>
      <ClearFilters onClear={onClear} />
    </Empty>
  );
}
