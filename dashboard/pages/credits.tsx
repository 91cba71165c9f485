import { Button, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { Suspense, useState } from "react";
import type { Answer } from "../api.ts";
import { formatDays, formatNumber } from "../format.ts";
import { part } from "../parts.ts";
import { useAccount, useMe } from "../session.ts";
import { creditsText as text } from "../text/credits.ts";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { lengthOf } from "../ui/length-of.ts";
import { Page } from "../ui/page.tsx";
import { useRead } from "../use-read.ts";
import classes from "./credits/credits.module.css";
import { Ledger } from "./credits/ledger.tsx";
import { UsePerDay } from "./credits/use-per-day.tsx";

const BookCredits = part(() => import("./operator/book-credits.tsx"), "BookCredits");

type CreditsRead = Answer<"GET /console/accounts/{accountId}/credits">;

export function CreditsPage() {
  const account = useAccount();
  const { isOperator } = useMe();
  const [isBooking, setIsBooking] = useState(false);
  return (
    <Page
      title={text.title}
      about={account.name}
      lead={text.lead}
      hasTimes
      actions={isOperator && <Button onClick={() => setIsBooking(true)}>{text.topUp}</Button>}
    >
      <Numbers />
      <UsePerDay />
      <Ledger />
      <Suspense>
        {isBooking && <BookCredits account={account} onClose={() => setIsBooking(false)} />}
      </Suspense>
    </Page>
  );
}

function Numbers() {
  const { accountId } = useAccount();
  const { isOperator } = useMe();
  const credits = useRead("GET /console/accounts/{accountId}/credits", { params: { accountId } });
  if (credits.failure && !credits.data) {
    return <FailurePanel failure={credits.failure} onRetry={credits.retry} />;
  }
  const { data } = credits;
  const hint =
    data && data.balance <= 0
      ? text.gone
      : data && data.balance <= data.lowCredits
        ? text.low(formatNumber(data.lowCredits))
        : undefined;
  return (
    <Stack gap="xs">
      <SimpleGrid cols={{ base: 2, xs: 3 }} spacing={{ base: "xs", xs: "md" }}>
        <Figure label={text.balance} value={data && formatNumber(data.balance)} hint={hint} />
        <Figure
          label={text.perDay}
          value={data && perDay(data.usedPerDay)}
          hint={text.perDayHint}
        />
        <Figure label={text.daysLeft} {...lastingOf(data)} />
      </SimpleGrid>
      {!isOperator && (
        <Text size="sm" c="dimmed">
          {text.askOperator}
        </Text>
      )}
    </Stack>
  );
}

/** Without credits left, they last no longer, whatever the rate. */
function lastingOf(data: CreditsRead | undefined) {
  if (!data) return { value: undefined, hint: text.atThisRate };
  if (data.daysLeft === null) return { value: text.noUse, hint: text.noUseHint };
  if (data.balance <= 0) return { value: text.noUse, hint: text.usedUp };
  return { value: formatDays(data.daysLeft), hint: text.atThisRate };
}

/** A small use must not read as none. */
function perDay(used: number): string {
  return used > 0 && used < 1 ? text.underOne : formatNumber(used);
}

function Figure({
  label,
  value = "…",
  hint,
}: {
  label: string;
  value: string | undefined;
  hint: string | undefined;
}) {
  return (
    <Paper withBorder className={classes["figure"]}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={650} className={classes["value"]} data-number={label} style={lengthOf(value)}>
        {value}
      </Text>
      <Text size="xs" c="dimmed" className={classes["hint"]}>
        {hint}
      </Text>
    </Paper>
  );
}
