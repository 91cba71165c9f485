import { Button, Group, Paper, Skeleton, Table, Text, Title } from "@mantine/core";
import { type ReactNode, useDeferredValue, useState } from "react";
import { formatNumber, formatTime } from "../../format.ts";
import { overviewText as text } from "../../text/overview.ts";
import { words } from "../../text/words.ts";
import { downloadText } from "../../ui/download.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { useZone } from "../../ui/zone.tsx";
import type { Read } from "../../use-read.ts";
import classes from "./overview.module.css";

export type ChartRow = { start: string; end: string; label: string };

type Column = { name: string; header: string; format?: (value: number) => string };

type Props<Row extends ChartRow> = {
  title: string;
  read: Read<unknown>;
  rows: Row[] | undefined;
  columns: Column[];
  /** The chart in one line; shown, and read out by screen readers in its place. */
  summary: string;
  /** Shown in place of a chart that has no data. */
  empty?: ReactNode;
  children: ReactNode;
};

/** A chart with its summary, also as a table and as CSV. */
export function ChartPanel<Row extends ChartRow>(props: Props<Row>) {
  const { title, read, rows, columns, summary, empty, children } = props;
  const [isTable, setIsTable] = useState(false);
  const toggle = isTable ? text.showChart : text.showTable;
  // Text first: on a slow machine, drawing the chart takes longer than all the rest.
  const isDrawn = useDeferredValue(rows !== undefined);
  return (
    <Paper withBorder p="md" mih={340} h="100%" component="section" aria-label={title}>
      <Group justify="space-between" gap="xs" mih={24} wrap="nowrap">
        <Title order={2} size="h5">
          {title}
        </Title>
        {rows && !empty && (
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="default"
              size="compact-xs"
              aria-label={text.toggleOf(toggle, title)}
              onClick={() => setIsTable(!isTable)}
            >
              {toggle}
            </Button>
            <Button
              variant="default"
              size="compact-xs"
              aria-label={text.csvOf(title)}
              onClick={() =>
                downloadText(`${fileName(title)}.csv`, toCsv(rows, columns), "text/csv")
              }
            >
              {text.csv}
            </Button>
          </Group>
        )}
      </Group>
      <Text size="sm" c="dimmed" mih={21} mb="xs">
        {rows && !empty && summary}
      </Text>
      {read.failure && !rows ? (
        <FailurePanel failure={read.failure} onRetry={read.retry} />
      ) : rows ? (
        <div data-stale={read.isStale}>
          {empty ??
            (isTable ? (
              <DataTable title={title} rows={rows} columns={columns} />
            ) : (
              // The library's own role makes a tab stop without a name; the table tells everything.
              <div role="img" aria-label={`${title}. ${summary}`} className={classes["chart"]}>
                {isDrawn ? children : <Skeleton height={240} />}
              </div>
            ))}
        </div>
      ) : (
        <Skeleton height={240} role="status" aria-label={words.loading} />
      )}
    </Paper>
  );
}

type TableProps<Row> = { title: string; rows: Row[]; columns: Column[] };

function DataTable<Row extends ChartRow>({ title, rows, columns }: TableProps<Row>) {
  const zone = useZone();
  return (
    <div
      className={classes["tableScroll"]}
      role="region"
      aria-label={text.tableOf(title)}
      tabIndex={0}
    >
      <Table verticalSpacing={4} fz="sm" tabularNums stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{text.from}</Table.Th>
            {columns.map(({ name, header }) => (
              <Table.Th key={name} scope="col" ta="right">
                {header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.start}>
              <Table.Th scope="row" fw={400} className={classes["from"]}>
                {formatTime(row.start, zone)}
              </Table.Th>
              {columns.map(({ name, format = formatNumber }) => {
                const value = valueOf(row, name);
                return (
                  <Table.Td key={name} ta="right">
                    {value === null ? "" : format(value)}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function valueOf(row: ChartRow, name: string): number | null {
  return (row as unknown as Record<string, number | null>)[name] ?? null;
}

/** Times are in UTC, as in every CSV of the dashboard. */
function toCsv<Row extends ChartRow>(rows: Row[], columns: Column[]): string {
  const head = ["from", "to", ...columns.map(({ name }) => name)];
  const lines = rows.map((row) => [
    row.start,
    row.end,
    ...columns.map(({ name }) => String(valueOf(row, name) ?? "")),
  ]);
  return [head, ...lines].map((line) => line.join(",")).join("\r\n") + "\r\n";
}

function fileName(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z]+/g, "-");
}
