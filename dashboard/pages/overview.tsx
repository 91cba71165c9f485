import { Alert, Grid, Group, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type LinkProps, useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment, Suspense, useEffect, useState } from "react";
import type { Alert as AlertData } from "#contract";
import type { Answer } from "../api.ts";
import type { RangeSearch } from "../range.ts";
import { loadPart, part } from "../parts.ts";
import { useAccount, useMe } from "../session.ts";
import { keep, readKept } from "../storage.ts";
import { overviewText as text } from "../text/overview.ts";
import { words } from "../text/words.ts";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { TextLink } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { RangePicker } from "../ui/range-picker.tsx";
import { useZone } from "../ui/zone.tsx";
import { askAgainAll, type Read, useRead } from "../use-read.ts";
import { alertInWords } from "./overview/alert-words.ts";
import { Figures } from "./overview/figures.tsx";
import classes from "./overview/overview.module.css";
import { standingOf } from "./overview/standing.ts";
import { Walk } from "./overview/walk.tsx";
import { walkSteps } from "./overview/walk-steps.ts";

/** The chart library comes with it; no other page needs that. It loads while the numbers do. */
const charts = loadPart(() => import("./overview/charts.tsx"));
// The error is reported where the charts are shown; do not let it count as unhandled before.
charts.catch(() => undefined);
const Charts = part(() => charts, "Charts");

const STATS = "GET /console/accounts/{accountId}/stats";

type Progress = Read<Answer<"GET /console/accounts/{accountId}/progress">>;

export function OverviewPage() {
  const { accountId, name, balance } = useAccount();
  const search = useSearch({ from: "/signed-in/" });
  const navigate = useNavigate({ from: "/" });
  const progress = useRead("GET /console/accounts/{accountId}/progress", { params: { accountId } });
  const steps = progress.data && walkSteps(progress.data);
  const hasMessage = progress.data?.hasMessage ?? true;
  const walk = useHiddenWalk(accountId);
  const choose = (range: RangeSearch) => void navigate({ search: range, resetScroll: false });
  return (
    <Page
      title={text.title}
      about={name}
      hasTimes={hasMessage}
      actions={hasMessage && <RangePicker range={search} fallback="24h" onChange={choose} />}
    >
      {hasMessage && <Numbers search={search} progress={progress} onRange={choose} />}
      {progress.failure && !progress.data && !walk.isHidden && (
        <FailurePanel failure={progress.failure} onRetry={progress.retry} />
      )}
      {!hasMessage && balance <= 0 && <Alerts alerts={[NO_CREDITS]} />}
      {progress.data && steps?.some(({ isDone }) => !isDone) && !(hasMessage && walk.isHidden) && (
        <Walk progress={progress.data} onHide={hasMessage ? walk.hide : undefined} />
      )}
    </Page>
  );
}

/** Remembered in this browser: a person who works alone knows that they will invite nobody. */
function useHiddenWalk(accountId: string): { isHidden: boolean; hide: () => void } {
  const name = `posthorn-walk-hidden-${accountId}`;
  const [hidden, setHidden] = useState<string>();
  return {
    isHidden: hidden === accountId || readKept("localStorage", name) !== undefined,
    hide() {
      keep("localStorage", name, "1");
      setHidden(accountId);
    },
  };
}

type NumbersProps = {
  search: RangeSearch;
  progress: Progress;
  onRange: (range: RangeSearch) => void;
};

function Numbers({ search, progress, onRange }: NumbersProps) {
  const { accountId } = useAccount();
  const query = useStatsQuery(search);
  useSlidingStats(query.range !== "custom");
  const input = { params: { accountId }, query };
  const summary = useRead(`${STATS}/summary`, input, { keepsOld: true });
  const webhooks = useRead(`${STATS}/webhooks`, input, { keepsOld: true });
  // Requested along with the numbers: each chart then finds its answer ready.
  useRead(`${STATS}/statuses`, input);
  useRead(`${STATS}/latency`, input);
  useRead(`${STATS}/credits`, input);
  useRead(`${STATS}/errors`, input);
  // Includes what is shown above the numbers, which would otherwise push them down later.
  const isAnswered = [summary, webhooks, progress].every(({ data, failure }) => data ?? failure);
  // For good: a panel asks again for what has failed, and must not disappear meanwhile.
  const [isKnown, setIsKnown] = useState(isAnswered);
  if (isAnswered && !isKnown) setIsKnown(true);
  const known = isKnown ? summary : { ...summary, data: undefined, failure: undefined };
  return (
    // Alerts come first. They push down only skeletons, which this key replaces as a whole.
    <Stack gap="lg" key={String(isKnown)}>
      {known.data && (
        <Standing
          summary={known.data}
          retrying={webhooks.data?.retrying ?? 0}
          hasWebhook={progress.data?.hasWebhook ?? false}
        />
      )}
      <Alerts alerts={known.data?.alerts ?? []} />
      <Figures summary={known} />
      <Suspense fallback={<ChartSkeletons />}>
        {isKnown ? <Charts query={query} onRange={onRange} /> : <ChartSkeletons />}
      </Suspense>
    </Stack>
  );
}

type StandingProps = {
  summary: Answer<`${typeof STATS}/summary`>;
  retrying: number;
  hasWebhook: boolean;
};

/** The state in one line. On a phone it wraps, and the dots between its parts are left out. */
function Standing({ summary: { alerts, daysLeft }, ...known }: StandingProps) {
  const { isOperator } = useMe();
  const parts = standingOf({ alerts, daysLeft, isOperator, ...known });
  if (parts.length === 0) return null;
  return (
    <Group gap="sm" role="group" aria-label={text.state} fz="sm">
      {parts.map(([words, link], index) => (
        <Fragment key={words}>
          {index > 0 && (
            <Text span inherit visibleFrom="sm" aria-hidden>
              ·
            </Text>
          )}
          <TextLink {...link} fz="inherit">
            {words}
          </TextLink>
        </Fragment>
      ))}
    </Group>
  );
}

export type StatsQuery = ReturnType<typeof useStatsQuery>;

/** The range in the server's form; days begin at midnight in the reader's zone. */
function useStatsQuery({ range = "24h", from, to }: RangeSearch) {
  const zone = useZone();
  return from && to ? { range: "custom" as const, from, to, zone } : { range, zone };
}

/** The width of a chart's narrowest bucket. */
const SLIDE_MS = 60_000;

/** A relative range moves on with the clock, which no event reports. */
function useSlidingStats(isRelative: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isRelative) return undefined;
    const timer = setInterval(() => {
      // Hidden pages need no update; they ask again when they are shown.
      if (document.visibilityState !== "visible") return;
      askAgainAll(client, { predicate: ({ queryKey }) => String(queryKey[0]).includes("/stats/") });
    }, SLIDE_MS);
    return () => clearInterval(timer);
  }, [client, isRelative]);
}

/** The same height as the charts, so that nothing shifts. */
function ChartSkeletons() {
  return (
    <Grid role="status" aria-label={words.loading}>
      {[12, 6, 6].map((span, index) => (
        <Grid.Col key={index} span={{ base: 12, md: span }}>
          <Skeleton height={340} />
        </Grid.Col>
      ))}
    </Grid>
  );
}

const ALERT_LINKS: Record<AlertData["kind"], LinkProps> = {
  credits_low: { to: "/credits" },
  credits_gone: { to: "/credits" },
  key_expiring: { to: "/keys", search: { state: "expires_soon" } },
  receiver_failing: { to: "/webhooks", search: { tab: "hosts" } },
  deliveries_exhausted: { to: "/webhooks", search: { state: ["exhausted"] } },
  carrier_down: { to: "/operator/carriers" },
};

/** The walk's first send is impossible without credits, so say this before it. */
const NO_CREDITS = { kind: "credits_gone", subject: null, count: null } as const;

/** While these last, messages cannot be sent at all, or not by every route. */
const GRAVE: readonly AlertData["kind"][] = ["credits_gone", "carrier_down"];

type ToldAlert = Pick<AlertData, "kind" | "subject" | "count">;

/** One box per kind, in the server's order: the most harmful comes first. */
function Alerts({ alerts }: { alerts: ToldAlert[] }) {
  const kinds = [...new Set(alerts.map(({ kind }) => kind))];
  if (kinds.length === 0) return null;
  return (
    <SimpleGrid
      cols={{ base: 1, md: Math.min(2, kinds.length) }}
      className={classes["alerts"]}
      role="status"
      aria-label={text.alerts}
    >
      {kinds.map((kind) => (
        <Alert
          key={kind}
          role="presentation"
          color={GRAVE.includes(kind) ? "red" : "yellow"}
          variant="outline"
          icon={<IconAlertTriangle aria-hidden />}
        >
          {alertInWords(
            kind,
            alerts.filter((alert) => alert.kind === kind),
          )}{" "}
          <TextLink {...ALERT_LINKS[kind]} underline="always">
            {text.alertActions[kind]}
          </TextLink>
        </Alert>
      ))}
    </SimpleGrid>
  );
}
