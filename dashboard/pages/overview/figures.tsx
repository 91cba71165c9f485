import { SimpleGrid, Text } from "@mantine/core";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { Answer } from "../../api.ts";
import { formatDays, formatDuration, formatNumber, formatRate } from "../../format.ts";
import { overviewText as text } from "../../text/overview.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { lengthOf } from "../../ui/length-of.ts";
import type { Read } from "../../use-read.ts";
import { changeInWords, rateChangeInWords } from "./change.ts";
import classes from "./overview.module.css";

type Summary = Answer<"GET /console/accounts/{accountId}/stats/summary">;

type Props = { summary: Read<Summary> };

/** The four numbers, each a link to what it counts. */
export function Figures({ summary }: Props) {
  const { data } = summary;
  if (summary.failure && !data) {
    return <FailurePanel failure={summary.failure} onRetry={summary.retry} />;
  }
  // Exactly what was counted: the whole minutes, hours or days that cover the chosen range.
  const inRange = data ? { from: data.span.from, to: data.span.to } : {};
  const now = data?.now;
  const before = data?.before;
  const used = now && before && changeInWords(now.creditsUsed, before.creditsUsed);
  return (
    <SimpleGrid
      cols={{ base: 2, lg: 4 }}
      spacing={{ base: "xs", xs: "md" }}
      data-stale={summary.isStale}
    >
      <Figure
        label={text.sent}
        value={now && formatNumber(now.messages)}
        change={now && before && changeInWords(now.messages, before.messages)}
        link={{ to: "/messages", search: inRange }}
      />
      <Figure
        label={text.rate}
        value={now && (formatRate(now.delivered, now.final) ?? text.notEnough)}
        hint={now && text.rateCounts(formatNumber(now.delivered), formatNumber(now.final))}
        change={now && before && rateChangeInWords(now, before)}
        link={{ to: "/messages", search: { ...inRange, status: ["DELIVERED"] } }}
      />
      <Figure
        label={text.p95}
        value={now && (now.p95Ms === null ? text.noDelivery : formatDuration(now.p95Ms))}
        change={now && before && changeInWords(now.p95Ms, before.p95Ms, formatDuration)}
        link={{ to: "/messages", search: { ...inRange, status: ["DELIVERED"] } }}
      />
      <Figure
        label={text.credits}
        value={data && formatNumber(data.balance)}
        hint={
          data &&
          (data.daysLeft === null || data.balance <= 0
            ? text.usedOnly(formatNumber(data.now.creditsUsed))
            : data.daysLeft === 0
              ? text.underADay
              : text.daysLeft(formatDays(data.daysLeft)))
        }
        change={used && text.used(used)}
        link={{ to: "/credits" }}
      />
    </SimpleGrid>
  );
}

type FigureProps = {
  label: string;
  value: string | undefined;
  hint?: string | undefined;
  /** The change from the period before. */
  change: string | undefined;
  link: LinkProps;
};

function Figure({ label, value = "…", hint, change, link }: FigureProps) {
  return (
    <Link {...link} className={classes["figure"]}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <div
        className={classes["figureValue"]}
        data-figure={label}
        data-words={value !== "…" && !/\d/.test(value)}
        style={lengthOf(value)}
      >
        {value}
      </div>
      {[hint, change].map(
        (line) =>
          line !== undefined && (
            <Text key={line} size="xs" c="dimmed">
              {line}
            </Text>
          ),
      )}
    </Link>
  );
}
