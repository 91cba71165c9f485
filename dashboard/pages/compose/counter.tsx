import { Button, DataList, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { nonGsmCharacters, splitText } from "#contract/segments";
import type { Failure } from "../../failure.ts";
import { formatNumber } from "../../format.ts";
import { useAccount } from "../../session.ts";
import { composeText as text } from "../../text/compose.ts";
import { messagesText } from "../../text/messages.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { SegmentRuler } from "../../ui/segment-ruler.tsx";
import classes from "./counter.module.css";
import { hasPlain, toPlain } from "./plain-characters.ts";
import type { Price } from "./use-price.ts";

type Props = {
  content: string;
  price: Price;
  /** Why there is no price, unless a field already says so. */
  failure: Failure | undefined;
  /** Why this person may not see the price; undefined if they may. */
  denial: string | undefined;
  onReplace: (content: string) => void;
};

type Row = [label: string, value: string, name: string];

/** Encoding and segments at once, computed here; the price once the service answers. */
export function Counter({ content, price, failure, denial, onReplace }: Props) {
  const { balance } = useAccount();
  const { encoding, segments, units, unitsLeft } = splitText(content);
  const isEmpty = content === "";
  const rows: Row[] = [
    [text.encoding, messagesText.encodings[encoding], "encoding"],
    [
      text.characters,
      text.charactersLeft(formatNumber(units), formatNumber(unitsLeft)),
      "characters",
    ],
    [text.segments, formatNumber(isEmpty ? 0 : segments), "segments"],
    ...(denial === undefined ? priceRows(price, balance) : []),
  ];
  return (
    <Paper withBorder p="md" component="section" aria-label={text.counter}>
      <Stack gap="sm">
        <Title order={2} size="h5">
          {text.counter}
        </Title>
        <DataList labelWidth="8rem" aria-live="polite">
          {rows.map(([label, value, name]) => (
            <DataList.Item key={name}>
              <DataList.ItemLabel>{label}</DataList.ItemLabel>
              <DataList.ItemValue data-counter={name}>{value}</DataList.ItemValue>
            </DataList.Item>
          ))}
        </DataList>
        {failure && <FailurePanel failure={failure} onRetry={price.retry} />}
        {denial !== undefined && (
          <Text size="sm" c="dimmed">
            {text.priceDenied}
          </Text>
        )}
        {encoding === "ucs2" && <Foreign content={content} onReplace={onReplace} />}
        {segments > 1 && <SegmentRuler text={content} hasCaption={false} />}
      </Stack>
    </Paper>
  );
}

/** Uses the header's balance, which follows every booking; the preview's is of one moment. */
function priceRows({ preview, failure, isAsked }: Price, balance: number): Row[] {
  const unknown = failure || !isAsked ? text.unpriced : text.pricing;
  return [
    [text.credits, preview ? formatNumber(preview.credits) : unknown, "credits"],
    [text.balanceAfter, preview ? balanceAfter(balance, preview.credits) : unknown, "balance"],
  ];
}

function balanceAfter(balance: number, credits: number): string {
  return balance < credits
    ? text.tooLittle(formatNumber(balance))
    : formatNumber(balance - credits);
}

function Foreign({ content, onReplace }: Pick<Props, "content" | "onReplace">) {
  const characters = [...new Set(nonGsmCharacters(content).map(({ character }) => character))];
  const isReplaceable = characters.some(hasPlain);
  return (
    <Stack gap="xs">
      <Text size="sm">{text.forcesUcs2}</Text>
      <Group gap={6} translate="no">
        {characters.slice(0, 20).map((character) => (
          <mark key={character} className={classes["character"]}>
            {character}
          </mark>
        ))}
      </Group>
      {isReplaceable && (
        <Group>
          <Button variant="default" size="compact-sm" onClick={() => onReplace(toPlain(content))}>
            {text.replaceAll}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
