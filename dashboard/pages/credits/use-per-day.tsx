import { Group, Paper, Skeleton, Text, Title } from "@mantine/core";
import { formatNumber, formatShortDay } from "../../format.ts";
import { useAccount } from "../../session.ts";
import { creditsText as text } from "../../text/credits.ts";
import { words } from "../../text/words.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { useZone } from "../../ui/zone.tsx";
import { useRead } from "../../use-read.ts";
import classes from "./credits.module.css";

/** The last 30 days as plain bars, because only the overview loads the chart library. */
export function UsePerDay() {
  const { accountId } = useAccount();
  const zone = useZone();
  const use = useRead("GET /console/accounts/{accountId}/stats/credits", {
    params: { accountId },
    query: { range: "30d", zone },
  });
  if (use.failure && !use.data) return <FailurePanel failure={use.failure} onRetry={use.retry} />;
  if (!use.data)
    return <Skeleton className={classes["panel"]} role="status" aria-label={words.loading} />;
  const days = use.data.buckets.map(({ start, charged, refunded }) => ({
    start,
    used: charged - refunded,
  }));
  const total = days.reduce((sum, { used }) => sum + used, 0);
  const most = Math.max(1, ...days.map(({ used }) => used));
  const summary =
    total === 0 ? text.nothingUsed : text.perDaySummary(formatNumber(total), formatNumber(most));
  const [first, last] = [days[0], days.at(-1)];
  if (!first || !last) return null;
  return (
    <Paper
      withBorder
      p={{ base: "sm", xs: "md" }}
      className={classes["panel"]}
      component="section"
      aria-label={text.perDayChart}
    >
      <Title order={2} size="h5">
        {text.perDayChart}
      </Title>
      <Text size="sm" c="dimmed">
        {summary}
      </Text>
      <div className={classes["bars"]} role="img" aria-label={`${text.perDayChart}. ${summary}`}>
        {days.map(({ start, used }) => (
          <div
            key={start}
            className={classes["day"]}
            title={text.dayUsed(formatShortDay(start, zone), formatNumber(used))}
          >
            <div className={classes["bar"]} style={{ height: `${(used / most) * 100}%` }} />
          </div>
        ))}
      </div>
      <Group justify="space-between" aria-hidden>
        <Text size="xs" c="dimmed">
          {formatShortDay(first.start, zone)}
        </Text>
        <Text size="xs" c="dimmed">
          {formatShortDay(last.start, zone)}
        </Text>
      </Group>
    </Paper>
  );
}
