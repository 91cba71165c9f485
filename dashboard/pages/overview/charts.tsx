import "@mantine/charts/styles.layer.css";
import { BarChart, LineChart } from "@mantine/charts";
import { Button, Center, Grid, Text } from "@mantine/core";
import { useReducedMotion } from "@mantine/hooks";
import { IconChartBarOff } from "@tabler/icons-react";
import type { Status } from "#contract";
import type { Answer } from "../../api.ts";
import { countOf, formatDuration, formatNumber } from "../../format.ts";
import type { RangeSearch } from "../../range.ts";
import { useAccount } from "../../session.ts";
import { overviewText as text } from "../../text/overview.ts";
import { STATUS_COLOR } from "../../theme.ts";
import { Empty } from "../../ui/empty.tsx";
import { useIsSmall } from "../../ui/use-phone.ts";
import { useRead } from "../../use-read.ts";
import { STATUSES } from "../../vocabulary.ts";
import type { StatsQuery } from "../overview.tsx";
import classes from "./overview.module.css";
import { type Axis, bucketFormat, countAxis, durationAxis } from "./axis.ts";
import { ChartPanel, type ChartRow } from "./chart-panel.tsx";
import { Errors, WebhookHealth } from "./panels.tsx";

type Props = { query: StatsQuery; onRange: (range: RangeSearch) => void };

/** Counts as stacked bars, in which a few failures are visible; times as lines. */
export function Charts({ query, onRange }: Props) {
  return (
    <Grid>
      <Grid.Col span={12}>
        <StatusChart query={query} onRange={onRange} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <LatencyChart query={query} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <CreditsChart query={query} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Errors query={query} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <WebhookHealth query={query} />
      </Grid.Col>
    </Grid>
  );
}

type Bucketed = {
  span: { bucket: string; zone: string };
  buckets: { start: string; end: string }[];
};

/** Each bucket with its axis label; `end` is for narrowing the range by a click. */
function rowsOf<Data extends Bucketed>(data: Data): (Data["buckets"][number] & ChartRow)[] {
  const label = bucketFormat(data.buckets, data.span);
  return data.buckets.map((each) => ({ ...each, label: label(each.start) }));
}

/** In the order of the series, not of the alphabet. */
const LEGEND = { verticalAlign: "bottom", height: 36, itemSorter: null } as const;

/** Our own ticks, with nothing above the last one. */
function axisProps(axis: Axis) {
  return { ...axis, domain: [0, axis.ticks.at(-1) ?? 0], interval: 0 } as const;
}

/** Room for half a dot, and for half of the axis's topmost number. */
const ROOM = { top: 8 };

/** These shades stand out on both light and dark. */
const shadeOf = (status: Status) => `${STATUS_COLOR[status]}.6`;

function StatusChart({ query, onRange }: Props) {
  const { accountId } = useAccount();
  const isSmall = useIsSmall();
  const isCalm = useReducedMotion();
  const stats = useRead(
    "GET /console/accounts/{accountId}/stats/statuses",
    { params: { accountId }, query },
    { keepsOld: true },
  );
  const rows = stats.data && rowsOf(stats.data);
  const inRow = (row: Record<Status, number>, names: readonly Status[]) =>
    names.reduce((all, name) => all + row[name], 0);
  const sum = (names: readonly Status[]) =>
    (rows ?? []).reduce((all, row) => all + inRow(row, names), 0);
  const all = sum(STATUSES);
  const open = sum(["QUEUED", "SENT"]);
  const highest = Math.max(0, ...(rows ?? []).map((row) => inRow(row, STATUSES)));
  return (
    <ChartPanel
      title={text.byStatus}
      read={stats}
      rows={rows}
      columns={STATUSES.map((status) => ({ name: status, header: status }))}
      summary={text.statusSummary(
        countOf(all, "message"),
        formatNumber(sum(["DELIVERED"])),
        formatNumber(sum(["UNDELIVERED", "FAILED"])),
        open > 0 ? text.notFinal(formatNumber(open)) : "",
      )}
      empty={all === 0 ? <EmptyRange onRange={onRange} /> : undefined}
    >
      <BarChart
        h={isSmall ? 280 : 240}
        data={rows ?? []}
        dataKey="label"
        type="stacked"
        withLegend
        // In a small window, the names of the five statuses take two lines.
        legendProps={{ ...LEGEND, height: isSmall ? 64 : LEGEND.height }}
        series={STATUSES.map((status) => ({ name: status, color: shadeOf(status) }))}
        valueFormatter={formatNumber}
        yAxisProps={axisProps(countAxis(highest))}
        xAxisProps={{ minTickGap: 30 }}
        barProps={{ isAnimationActive: !isCalm }}
        barChartProps={{
          accessibilityLayer: false,
          margin: ROOM,
          onClick: ({ activeTooltipIndex }) => {
            // Null beside the bars: converted to a number, it would mean the first bar.
            const row = rows?.[Number(activeTooltipIndex ?? Number.NaN)];
            if (row) onRange({ from: row.start, to: row.end });
          },
        }}
      />
    </ChartPanel>
  );
}

function EmptyRange({ onRange }: { onRange: (range: RangeSearch) => void }) {
  return (
    <Empty
      icon={<IconChartBarOff aria-hidden />}
      title={text.emptyRange}
      description={text.emptyRangeHint}
    >
      <Button variant="default" onClick={() => onRange({ range: "30d" })}>
        {text.last30}
      </Button>
    </Empty>
  );
}

/** Shown instead of empty axes. */
function NoPoints({ children }: { children: string }) {
  return (
    <Center h={240}>
      <Text size="sm" c="dimmed">
        {children}
      </Text>
    </Center>
  );
}

/** With fewer points in a row, a line is hardly visible, so it needs dots. */
const ENOUGH_FOR_A_LINE = 5;

function needsDots(rows: { p95Ms: number | null }[]): boolean {
  const inRows = rows
    .map(({ p95Ms }) => (p95Ms === null ? " " : "x"))
    .join("")
    .split(" ");
  return inRows.some(({ length }) => length > 0 && length < ENOUGH_FOR_A_LINE);
}

function LatencyChart({ query }: Pick<Props, "query">) {
  const { accountId } = useAccount();
  const isCalm = useReducedMotion();
  const stats = useRead(
    "GET /console/accounts/{accountId}/stats/latency",
    { params: { accountId }, query },
    { keepsOld: true },
  );
  const rows = stats.data && rowsOf(stats.data);
  const slowest = (rows ?? []).reduce<
    Answer<"GET /console/accounts/{accountId}/stats/latency">["buckets"][number] | undefined
  >((worst, row) => ((row.p95Ms ?? -1) > (worst?.p95Ms ?? -1) ? row : worst), undefined);
  const slowestMs = slowest?.p95Ms ?? undefined;
  return (
    <ChartPanel
      title={text.latency}
      read={stats}
      rows={rows}
      columns={[
        { name: "p50Ms", header: text.p50, format: formatDuration },
        { name: "p95Ms", header: text.p95Short, format: formatDuration },
      ]}
      summary={
        slowestMs === undefined
          ? text.latencyNone
          : text.latencySummary(formatDuration(slowest?.p50Ms ?? 0), formatDuration(slowestMs))
      }
      empty={slowestMs === undefined ? <NoPoints>{text.latencyNone}</NoPoints> : undefined}
    >
      <LineChart
        h={240}
        data={rows ?? []}
        dataKey="label"
        withLegend
        withDots={needsDots(rows ?? [])}
        connectNulls={false}
        legendProps={LEGEND}
        classNames={{ legendItem: classes["lineName"], legendItemColor: classes["lineMark"] }}
        // Straight lines, as the values between two points are unknown.
        curveType="linear"
        // The last line is dashed, so that the other shows through where both are equal.
        series={[
          { name: "p95Ms", label: text.p95Short, color: "indigo.6" },
          { name: "p50Ms", label: text.p50, color: "teal.6", strokeDasharray: "6 6" },
        ]}
        valueFormatter={formatDuration}
        yAxisProps={axisProps(durationAxis(slowestMs ?? 0))}
        // Room for the dots at both ends, which would otherwise be cut in half.
        xAxisProps={{ minTickGap: 30, padding: { left: 8, right: 8 } }}
        lineProps={{ isAnimationActive: !isCalm }}
        lineChartProps={{ accessibilityLayer: false, margin: ROOM }}
      />
    </ChartPanel>
  );
}

function CreditsChart({ query }: Pick<Props, "query">) {
  const { accountId } = useAccount();
  const isCalm = useReducedMotion();
  const stats = useRead(
    "GET /console/accounts/{accountId}/stats/credits",
    { params: { accountId }, query },
    { keepsOld: true },
  );
  const rows = stats.data && rowsOf(stats.data);
  const sum = (name: "charged" | "refunded") =>
    (rows ?? []).reduce((all, row) => all + row[name], 0);
  const [charged, refunded] = [sum("charged"), sum("refunded")];
  const highest = Math.max(0, ...(rows ?? []).flatMap((row) => [row.charged, row.refunded]));
  return (
    <ChartPanel
      title={text.creditsUse}
      read={stats}
      rows={rows}
      columns={[
        { name: "charged", header: text.charged },
        { name: "refunded", header: text.refunded },
      ]}
      summary={text.creditsSummary(formatNumber(charged), formatNumber(refunded))}
      empty={charged + refunded === 0 ? <NoPoints>{text.creditsNone}</NoPoints> : undefined}
    >
      <BarChart
        h={240}
        data={rows ?? []}
        dataKey="label"
        withLegend
        legendProps={LEGEND}
        series={[
          { name: "charged", label: text.charged, color: "indigo.6" },
          { name: "refunded", label: text.refunded, color: "teal.6" },
        ]}
        valueFormatter={formatNumber}
        yAxisProps={axisProps(countAxis(highest))}
        xAxisProps={{ minTickGap: 30 }}
        barProps={{ isAnimationActive: !isCalm }}
        // With 60 buckets each bar has few pixels: a gap within a pair would leave it one.
        barChartProps={{ accessibilityLayer: false, margin: ROOM, barGap: 0 }}
      />
    </ChartPanel>
  );
}
