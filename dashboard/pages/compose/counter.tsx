import { Button, DataList, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { nonGsmCharacters, splitText } from "#contract/segments";
import { formatNumber } from "../../format.ts";
import { composeText as text } from "../../text/compose.ts";
import { messagesText } from "../../text/messages.ts";
import { SegmentRuler } from "../../ui/segment-ruler.tsx";
import classes from "./counter.module.css";
import { hasPlain, toPlain } from "./plain-characters.ts";
import type { Price } from "./use-price.ts";

type Props = { content: string; price: Price; onReplace: (content: string) => void };

/** Encoding and segments at once, from the one function; the price as soon as the service says it. */
export function Counter({ content, price, onReplace }: Props) {
  const { encoding, segments, units, unitsLeft } = splitText(content);
  const { preview } = price;
  const isEmpty = content === "";
  const rows: [label: string, value: string, name: string][] = [
    [text.encoding, messagesText.encodings[encoding], "encoding"],
    [
      text.characters,
      text.charactersLeft(formatNumber(units), formatNumber(unitsLeft)),
      "characters",
    ],
    [text.segments, formatNumber(isEmpty ? 0 : segments), "segments"],
    [text.credits, preview ? formatNumber(preview.credits) : text.pricing, "credits"],
    [
      text.balanceAfter,
      preview ? formatNumber(preview.balance - preview.credits) : text.pricing,
      "balance",
    ],
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
        {encoding === "ucs2" && <Foreign content={content} onReplace={onReplace} />}
        {segments > 1 && <SegmentRuler text={content} />}
      </Stack>
    </Paper>
  );
}

function Foreign({ content, onReplace }: Omit<Props, "price">) {
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
