import { Group, Paper, SimpleGrid, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { deliveryErrors } from "../../../contract/errors.ts";
import { countOf, formatNumber, formatShare } from "../../format.ts";
import type { RangeSearch } from "../../range.ts";
import { useAccount } from "../../session.ts";
import { overviewText as text } from "../../text/overview.ts";
import { words } from "../../text/words.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { TextLink } from "../../ui/link.tsx";
import { useRead } from "../../use-read.ts";
import type { StatsQuery } from "../overview.tsx";
import classes from "./overview.module.css";

type Props = { query: StatsQuery };

type PanelProps = { title: string; isStale: boolean; children: ReactNode };

function Panel({ title, isStale, children }: PanelProps) {
  return (
    <Paper withBorder p="md" mih={180} h="100%" component="section" aria-label={title}>
      <Title order={2} size="h5" mb="sm">
        {title}
      </Title>
      <div data-stale={isStale}>{children}</div>
    </Paper>
  );
}

const MOST_ERRORS = 5;

/** The most frequent errors first, each with its meaning and what to do. */
export function Errors({ query }: Props) {
  const { accountId } = useAccount();
  const errors = useRead(
    "GET /console/accounts/{accountId}/stats/errors",
    { params: { accountId }, query },
    { keepsOld: true },
  );
  const { range, from, to } = query as RangeSearch;
  const inRange = from && to ? { from, to } : { range };
  const ranked = errors.data?.data ?? [];
  const all = sumOf(ranked);
  const others = ranked.slice(MOST_ERRORS);
  const share = (count: number) => (
    <span className={classes["count"]}>
      {text.share(formatNumber(count), formatShare(count, all))}
    </span>
  );
  return (
    <Panel title={text.errors} isStale={errors.isStale}>
      {errors.failure && !errors.data && (
        <FailurePanel failure={errors.failure} onRetry={errors.retry} />
      )}
      {!errors.failure && !errors.data && (
        <Skeleton height={104} role="status" aria-label={words.loading} />
      )}
      {errors.data?.data.length === 0 && <Text size="sm">{text.noErrors}</Text>}
      <Stack gap="sm">
        {ranked.slice(0, MOST_ERRORS).map(({ code, count }) => (
          <div key={code}>
            <Group justify="space-between" wrap="nowrap" fz="sm">
              <TextLink to="/messages" search={{ ...inRange, errorCode: [code] }} fz="inherit">
                {code}
              </TextLink>
              {share(count)}
            </Group>
            <div className={classes["share"]} style={{ width: `${(count / all) * 100}%` }} />
            <Text size="xs" c="dimmed">
              {deliveryErrors[code].message} {deliveryErrors[code].fix}
            </Text>
          </div>
        ))}
        {others.length > 0 && (
          <Group justify="space-between" wrap="nowrap" fz="sm">
            <TextLink
              to="/messages"
              search={{ ...inRange, errorCode: others.map(({ code }) => code) }}
              fz="inherit"
            >
              {countOf(others.length, "other")}
            </TextLink>
            {share(sumOf(others))}
          </Group>
        )}
      </Stack>
    </Panel>
  );
}

function sumOf(counts: { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

const HEALTH = ["delivered", "undelivered", "exhausted", "failedAttempts"] as const;

export function WebhookHealth({ query }: Props) {
  const { accountId } = useAccount();
  const health = useRead(
    "GET /console/accounts/{accountId}/stats/webhooks",
    { params: { accountId }, query },
    { keepsOld: true },
  );
  const { data } = health;
  const counts = data && { ...data, undelivered: data.waiting + data.retrying };
  return (
    <Panel title={text.webhooks} isStale={health.isStale}>
      {health.failure && !data ? (
        <FailurePanel failure={health.failure} onRetry={health.retry} />
      ) : (
        <SimpleGrid cols={2}>
          {HEALTH.map((name) => (
            <div key={name}>
              <Text size="xs" c="dimmed">
                {text.webhookCounts[name]}
              </Text>
              <Text fw={650} fz="lg">
                {counts ? formatNumber(counts[name]) : "…"}
              </Text>
            </div>
          ))}
        </SimpleGrid>
      )}
    </Panel>
  );
}
