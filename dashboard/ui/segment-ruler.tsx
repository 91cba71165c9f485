import { Text } from "@mantine/core";
import { Fragment } from "react";
import { type Encoding, nonGsmCharacters, splitText } from "#contract/segments";
import { rulerText as text } from "../text/message.ts";
import classes from "./segment-ruler.module.css";

type Props = { text: string; encoding?: Encoding; hasCaption?: boolean };

/** The text split into segments, marking where each ends and the characters that force UCS-2. */
export function SegmentRuler({ text: content, encoding, hasCaption = true }: Props) {
  const { parts } = splitText(content, encoding === "ucs2" ? "ucs2" : "auto");
  const foreign = new Set(nonGsmCharacters(content).map(({ position }) => position));
  let start = 0;
  const isExplained = hasCaption && foreign.size > 0;
  const ruler = (
    <div className={classes["ruler"]} translate="no" dir="auto">
      {parts.map((part, index) => {
        const from = start;
        start += part.length;
        return (
          <Fragment key={from}>
            <span className={classes["part"]} data-odd={index % 2 === 1}>
              <Characters part={part} from={from} foreign={foreign} />
            </span>
            {parts.length > 1 && (
              <span className={classes["end"]} title={text.segmentEnds(index + 1)}>
                {index + 1}
              </span>
            )}
          </Fragment>
        );
      })}
    </div>
  );
  return isExplained ? (
    <div>
      {ruler}
      <Text size="xs" c="dimmed" mt={4}>
        {text.marked}
      </Text>
    </div>
  ) : (
    ruler
  );
}

type CharacterProps = { part: string; from: number; foreign: Set<number> };

/** Keeps runs of ordinary characters together: a long text must not be a thousand elements. */
function Characters({ part, from, foreign }: CharacterProps) {
  const pieces: { at: number; content: string; isForeign: boolean }[] = [];
  let position = from;
  for (const character of part) {
    const isForeign = foreign.has(position);
    const last = pieces.at(-1);
    if (last && !last.isForeign && !isForeign) last.content += character;
    else pieces.push({ at: position, content: character, isForeign });
    position += character.length;
  }
  return pieces.map(({ at, content, isForeign }) =>
    isForeign ? (
      <mark key={at} className={classes["foreign"]} title={text.forces(content)}>
        {content}
      </mark>
    ) : (
      <Fragment key={at}>{content}</Fragment>
    ),
  );
}
