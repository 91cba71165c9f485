import { Button, Group, Stack, Text } from "@mantine/core";
import { IconDownload, IconHistory } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { AuditEntry } from "#contract";
import { addressOf } from "../../api.ts";
import { nowMs } from "../../clock.ts";
import { boundsOf } from "../../range.ts";
import { present } from "../../search.ts";
import { auditText as text, operatorText } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { CopyIcon } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { TextLink } from "../../ui/link.tsx";
import { type Column, Listing } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { RangePicker } from "../../ui/range-picker.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { Time } from "../../ui/time.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import { useRead } from "../../use-read.ts";
import { actionInWords, detailsInWords } from "./audit-details.ts";
import classes from "./operator.module.css";
import type { AuditSearch } from "./search.ts";

export function AuditPage() {
  const search = useSearch({ from: "/signed-in/operator/audit" });
  const navigate = useNavigate({ from: "/operator/audit" });
  const filters = useAuditFilters(search);
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
  useCursorFallback(audit.failure, () => change({}, true));
  return (
    <Stack gap="md">
      <Text c="dimmed" size="sm">
        {text.lead}
      </Text>
      <Group justify="space-between" align="flex-end">
        <FilterBar>
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
            value={search.actor}
            onTyped={(actor) => change({ actor }, true)}
          />
          <RangePicker
            range={search}
            onChange={(range) =>
              change({ range: undefined, from: undefined, to: undefined, ...range })
            }
          />
        </FilterBar>
        <Button
          component="a"
          download
          variant="default"
          href={addressOf("GET /console/operator/audit.csv", { query: filters })}
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {words.downloadCsv}
        </Button>
      </Group>
      <Listing
        label={operatorText.audit}
        columns={COLUMNS}
        rows={audit.data?.data}
        rowId={({ auditId }) => auditId}
        failure={audit.failure}
        onRetry={audit.retry}
        isStale={audit.isStale}
        empty={<NoEntries search={search} onClear={() => void navigate({ search: {} })} />}
        compact={(entry) => (
          <Stack gap={4}>
            <Group justify="space-between" gap="xs">
              <Text span size="sm" fw={550}>
                {actionInWords(entry.action)}
              </Text>
              <Text span size="sm">
                <Time at={entry.at} />
              </Text>
            </Group>
            <Text size="sm">
              <Who entry={entry} />
              {entry.accountName && ` · ${entry.accountName}`}
            </Text>
            <Details entry={entry} />
          </Stack>
        )}
      />
      <Pager
        page={audit.data}
        search={search}
        onTurn={(turn) => void navigate({ search: (old) => present({ ...old, ...turn }) })}
      />
    </Stack>
  );
}

function useAuditFilters(search: AuditSearch) {
  const [chosen, setChosen] = useState({ range: search.range, at: nowMs() });
  if (chosen.range !== search.range) setChosen({ range: search.range, at: nowMs() });
  const { from, to } = boundsOf(search, chosen.at);
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
      <Button variant="default" onClick={onClear}>
        {words.clearFilters}
      </Button>
    </Empty>
  );
}

/** Leads to everything else that they did; of a key, the log says only that it was one. */
function Who({ entry: { actor, actorId } }: { entry: AuditEntry }) {
  if (actor.kind === "key") return actor.name;
  const who = actor.kind === "user" ? `user:${actorId}` : actor.kind;
  return (
    <TextLink to="/operator/audit" search={{ actor: who }} underline="always">
      {actor.name}
    </TextLink>
  );
}

function Details({ entry: { details } }: { entry: AuditEntry }) {
  return (
    <div className={classes["details"]}>
      {detailsInWords(details).map((line) => (
        <Text key={line} size="xs">
          {line}
        </Text>
      ))}
    </div>
  );
}

const COLUMNS: Column<AuditEntry>[] = [
  { name: "at", header: text.columns.at, cell: ({ at }) => <Time at={at} /> },
  {
    name: "actor",
    header: text.columns.actor,
    cell: (entry) => (
      <Stack gap={0}>
        <Text span size="sm">
          <Who entry={entry} />
        </Text>
        <Text span size="xs" c="dimmed">
          {entry.address}
        </Text>
      </Stack>
    ),
  },
  {
    name: "action",
    header: text.columns.action,
    cell: ({ action, accountName }) => (
      <Stack gap={0}>
        <Text span size="sm">
          {actionInWords(action)}
        </Text>
        <Text span size="xs" c="dimmed">
          <span className="mono">{action}</span>
          {accountName && ` · ${accountName}`}
        </Text>
      </Stack>
    ),
  },
  {
    name: "object",
    header: text.columns.object,
    cell: ({ objectId }) =>
      objectId && (
        <Group gap={2} wrap="nowrap">
          <span className="mono">…{objectId.slice(-8)}</span>
          <CopyIcon text={objectId} label={text.copyObject} />
        </Group>
      ),
  },
  {
    name: "details",
    header: text.columns.details,
    isLong: true,
    cell: (entry) => <Details entry={entry} />,
  },
  {
    name: "requestId",
    header: text.columns.requestId,
    cell: ({ requestId }) => requestId && <CopyIcon text={requestId} label={text.copyRequest} />,
  },
];
