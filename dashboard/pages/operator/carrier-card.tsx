import { Badge, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Carrier } from "#contract";
import { countOf, formatDuration, formatNumber } from "../../format.ts";
import { codeInWords } from "../../text/carrier-codes.ts";
import { carriersText as text } from "../../text/operator.ts";
import { Time } from "../../ui/time.tsx";
import { CarrierActions } from "./carrier-actions.tsx";
import classes from "./operator.module.css";

const STATE_COLOR: Record<Carrier["state"], string> = {
  up: "teal",
  degraded: "yellow",
  down: "red",
  pausing: "yellow",
  paused: "gray",
  unknown: "gray",
};

export function CarrierCard({ carrier, onEdit }: { carrier: Carrier; onEdit: () => void }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={carrier.name}>
      <Stack gap="md">
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
          <Fact label={text.answerTime} value={answerTime(carrier) ?? "–"} />
          <Fact label={text.refusals} value={<ErrorCodes carrier={carrier} />} />
          <Fact label={text.lateReceipts} value={formatNumber(carrier.lateReceipts)}>
            {carrier.lateReceipts > 0 && text.lateReceiptsHint}
          </Fact>
        </SimpleGrid>
        {carrier.countedSince && (
          <Text size="xs" c="dimmed" mt={-12}>
            {text.incompleteBefore} <Time at={carrier.countedSince} form="minute" />.
          </Text>
        )}
        <SinceStart counts={carrier.sinceStart} />
        <Links carrier={carrier} />
        <CarrierActions carrier={carrier} onEdit={onEdit} />
      </Stack>
    </Paper>
  );
}

function Problems({ carrier: { problems } }: { carrier: Carrier }) {
  return problems.map((problem) => (
    <Text key={problem} size="sm" c="var(--mantine-color-error)" mt={-8}>
      {problem}
    </Text>
  ));
}

function SinceStart({ counts }: { counts: Carrier["sinceStart"] }) {
  const counted = (["inDoubt", "reconnects", "throttled"] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => {
      const [one, many] = text.counted[name];
      return countOf(counts[name], one, many).replaceAll(" ", "\u00a0");
    });
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

function answerTime({ responseMs }: Pick<Carrier, "responseMs">): string | undefined {
  return responseMs === null
    ? undefined
    : text.p50p99(formatDuration(responseMs.p50Ms), formatDuration(responseMs.p99Ms));
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
            {link.bind}: {linkInWords(link)}
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

function linkInWords(link: Carrier["links"][number]): string {
  const { state, windowInUse, submitsPerSecond } = link;
  const speed = text.perSecond(rate(submitsPerSecond));
  const told = [text.linkStates[state], text.window(windowInUse), speed, answerTime(link)];
  return told.filter((each) => each !== undefined).join(", ");
}

function Enquired({ link: { enquireLinkAt } }: { link: Carrier["links"][number] }) {
  if (enquireLinkAt === null) return <>, {text.notEnquired}</>;
  return (
    <>
      , {text.enquired} <Time at={enquireLinkAt} form="relative" />
    </>
  );
}
