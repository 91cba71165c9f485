import {
  Alert,
  Badge,
  Code,
  Group,
  Paper,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, Suspense, useState } from "react";
import type { Carrier } from "#contract";
import { type Answer, call } from "../../api.ts";
import { formatDuration, formatNumber } from "../../format.ts";
import { part } from "../../parts.ts";
import { codeInWords } from "../../text/carrier-codes.ts";
import { carriersText as text } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FailureLine, FailurePanel } from "../../ui/failure-panel.tsx";
import { useIsLate } from "../../ui/listing.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { Time } from "../../ui/time.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain, useRead } from "../../use-read.ts";
import classes from "./operator.module.css";

const EditCarrier = part(() => import("./edit-carrier.tsx"), "EditCarrier");

const LIST = "GET /console/operator/carriers";

export function CarriersPage() {
  const carriers = useRead(LIST, {});
  if (carriers.failure && !carriers.data) {
    return <FailurePanel failure={carriers.failure} onRetry={carriers.retry} />;
  }
  if (!carriers.data) return <LoadingCards />;
  const { data, parkedReceipts } = carriers.data;
  const isOnlySimulator = data.every(({ kind }) => kind === "simulator");
  return (
    <Stack gap="lg">
      {carriers.failure && <FailurePanel failure={carriers.failure} onRetry={carriers.retry} />}
      {parkedReceipts > 0 && (
        <Text size="sm">{text.parked(parkedReceipts, formatNumber(parkedReceipts))}</Text>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {data.map((carrier) => (
          <CarrierCard key={carrier.carrierId} carrier={carrier} />
        ))}
      </SimpleGrid>
      {isOnlySimulator && <OnlySimulator />}
    </Stack>
  );
}

function LoadingCards() {
  const isLate = useIsLate();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} mih={330} role="status" aria-label={words.loading}>
      {isLate && <Skeleton height={330} />}
      {isLate && <Skeleton height={330} />}
    </SimpleGrid>
  );
}

function OnlySimulator() {
  return (
    <Stack gap="xs" align="flex-start">
      <Text fw={600}>{text.onlySimulator}</Text>
      <Text size="sm">{text.onlySimulatorHint}</Text>
      <Code block translate="no" style={{ whiteSpace: "pre-wrap" }}>
        {text.addCommand}
      </Code>
      <CopyButton text={text.addCommand} label={text.copyCommand} size="xs" />
    </Stack>
  );
}

const STATE_COLOR: Record<Carrier["state"], string> = {
  up: "teal",
  degraded: "yellow",
  down: "red",
  paused: "gray",
  unknown: "gray",
};

function CarrierCard({ carrier }: { carrier: Carrier }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={carrier.name}>
      <Stack gap="md" h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div className={classes["carrier"]}>
            <Title order={2} size="h5">
              {carrier.name}
            </Title>
            <Text size="sm" c="dimmed">
              {text.kinds[carrier.kind]}
            </Text>
          </div>
          <Badge variant="dot" size="lg" flex="none" color={STATE_COLOR[carrier.state]}>
            {text.states[carrier.state]}
          </Badge>
        </Group>
        <Problems carrier={carrier} />
        <SimpleGrid cols={2}>
          <Fact label={text.submits} value={submits(carrier)} />
          <Fact label={text.receipts} value={text.perSecond(rate(carrier.receiptsPerSecond))} />
          <Fact label={text.waiting} value={formatNumber(carrier.waiting)} />
          <Fact label={text.answerTime} value={answerTime(carrier)} />
          <Fact label={text.refusals} value={<ErrorCodes carrier={carrier} />} />
          <Fact label={text.lateReceipts} value={formatNumber(carrier.lateReceipts)}>
            {carrier.lateReceipts > 0 && text.lateReceiptsHint}
          </Fact>
        </SimpleGrid>
        {carrier.countedSince && (
          <Text size="xs" c="dimmed" mt={-12}>
            {text.countedSince} <Time at={carrier.countedSince} form="minute" />.
          </Text>
        )}
        <SinceStart counts={carrier.sinceStart} />
        <Links carrier={carrier} />
        <CarrierActions carrier={carrier} />
      </Stack>
    </Paper>
  );
}

/** Why it is down, or a part of it. */
function Problems({ carrier: { links } }: { carrier: Carrier }) {
  const problems = new Set(links.flatMap(({ problem }) => problem ?? []));
  return [...problems].map((problem) => (
    <Text key={problem} size="sm" c="var(--mantine-color-error)" mt={-8}>
      {problem}
    </Text>
  ));
}

function SinceStart({ counts }: { counts: Carrier["sinceStart"] }) {
  const counted = (["inDoubt", "reconnects", "throttled"] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${text.counted[name]}\u00a0${formatNumber(counts[name])}`);
  if (counted.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" mt={-12}>
      {text.sinceStart(counted.join(" · "))}
    </Text>
  );
}

function rate(perSecond: number): string {
  return perSecond >= 10 ? formatNumber(perSecond) : perSecond.toFixed(1);
}

function submits({ submitsPerSecond, settings }: Carrier): string {
  const limit = Number(settings["rate"] ?? 0);
  if (limit === 0) return text.perSecond(rate(submitsPerSecond));
  return text.ofLimit(rate(submitsPerSecond), formatNumber(limit));
}

function answerTime({ responseMs }: Carrier): string {
  if (responseMs === null) return "–";
  return text.p50p99(formatDuration(responseMs.p50Ms), formatDuration(responseMs.p99Ms));
}

function ErrorCodes({ carrier: { refusals } }: { carrier: Carrier }) {
  if (refusals.length === 0) return text.none;
  return refusals.slice(0, 5).map(({ carrierCode, count }) => (
    <div key={carrierCode}>
      {codeInWords(carrierCode)}&nbsp;×&nbsp;{formatNumber(count)}
    </div>
  ));
}

type FactProps = { label: string; value: ReactNode; children?: ReactNode };

function Fact({ label, value, children }: FactProps) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" fw={550} component="div">
        {value}
      </Text>
      {children && (
        <Text size="xs" c="dimmed">
          {children}
        </Text>
      )}
    </div>
  );
}

function Links({ carrier: { links } }: { carrier: Carrier }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {text.links}
      </Text>
      {links.length === 0 && <Text size="sm">{text.noLinks}</Text>}
      {links.map((link, index) => (
        <div key={`${link.bind} ${index}`}>
          <Text size="sm">
            {link.bind}: {text.linkStates[link.state]}, {text.window(link.windowInUse)}
          </Text>
          <Text size="xs" c="dimmed">
            {text.changed} <Time at={link.since} form="relative" />
            {link.bind !== "simulator" && <Enquired link={link} />}
          </Text>
        </div>
      ))}
    </div>
  );
}

function Enquired({ link: { enquireLinkAt } }: { link: Carrier["links"][number] }) {
  if (enquireLinkAt === null) return <>, {text.notEnquired}</>;
  return (
    <>
      , {text.enquired} <Time at={enquireLinkAt} form="relative" />
    </>
  );
}

/** A number and its unit stay on one line. */
function unbroken(duration: string): string {
  return duration.replaceAll(" ", "\u00a0");
}

/** A pair connects, binds, asks and unbinds twice, and a carrier may take its time for each. */
const TEST_DEADLINE_MS = 120_000;

type BindTest = Answer<"POST /console/operator/carriers/{carrierId}/test">;

function CarrierActions({ carrier }: { carrier: Carrier }) {
  const client = useQueryClient();
  const { carrierId, isPaused } = carrier;
  const [open, setOpen] = useState<"edit" | "pause">();
  const [tested, setTested] = useState<BindTest>();
  const test = useAction(() =>
    call(
      "POST /console/operator/carriers/{carrierId}/test",
      { params: { carrierId } },
      { deadlineMs: TEST_DEADLINE_MS },
    ),
  );
  const change = useAction((verb: "pause" | "resume") =>
    call(`POST /console/operator/carriers/{carrierId}/${verb}`, { params: { carrierId } }),
  );
  async function run(verb: "pause" | "resume"): Promise<void> {
    const outcome = await change.run(verb);
    askAgain(client, [LIST]);
    // Another may be open by now.
    if (outcome?.ok) setOpen((now) => (now === verb ? undefined : now));
  }
  async function bind(): Promise<void> {
    const outcome = await test.run(undefined);
    setTested(outcome?.ok ? outcome.result : undefined);
  }
  return (
    <Stack gap="xs" mt="auto">
      <Group gap="xs">
        <RowButton reason={undefined} loading={test.isRunning} onClick={() => void bind()}>
          {text.test}
        </RowButton>
        <RowButton
          reason={undefined}
          loading={change.isRunning}
          onClick={() => (isPaused ? void run("resume") : setOpen("pause"))}
        >
          {isPaused ? text.resume : text.pause}
        </RowButton>
        {carrier.kind === "smpp" && (
          <RowButton reason={undefined} onClick={() => setOpen("edit")}>
            {text.edit}
          </RowButton>
        )}
      </Group>
      <div role="status" className={classes["status"]}>
        {tested && (
          <Alert
            color={tested.isBound ? "teal" : "red"}
            variant="outline"
            p="xs"
            icon={tested.isBound ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
          >
            {text.tested(tested.message, unbroken(formatDuration(tested.durationMs)))}
          </Alert>
        )}
      </div>
      {test.failure && <FailureLine failure={test.failure} />}
      {change.failure && open !== "pause" && <FailureLine failure={change.failure} />}
      {open === "pause" && (
        <Confirm
          title={text.pauseTitle(carrier.name)}
          consequence={text.pauseText}
          submit={text.pause}
          isRunning={change.isRunning}
          failure={change.failure}
          onConfirm={() => void run("pause")}
          onClose={() => setOpen(undefined)}
        />
      )}
      <Suspense>
        {open === "edit" && <EditCarrier carrier={carrier} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </Stack>
  );
}
