import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { formatDayMinute, type Zone } from "../format.ts";
import { fromWall, RANGES, type RangeSearch, type RelativeRange, toWall } from "../range.ts";
import { filterText as text } from "../text/messages.ts";
import { useIsAnother } from "./use-is-another.ts";
import { useZone } from "./zone.tsx";

type Props = {
  range: RangeSearch;
  /** What no range means: if left out, everything; else this relative range. */
  fallback?: RelativeRange;
  onChange: (range: RangeSearch) => void;
};

/** For callers that merge the chosen range into the rest of the address. */
export const NO_RANGE = { range: undefined, from: undefined, to: undefined };

/** Relative ranges, and a custom one in the page's zone. */
export function RangePicker({ range, fallback, onChange }: Props) {
  const [isCustom, setIsCustom] = useState(range.from !== undefined);
  if (useIsAnother(`${range.range} ${range.from} ${range.to}`)) {
    setIsCustom(range.from !== undefined);
  }
  const value = isCustom || range.from !== undefined ? "custom" : (range.range ?? fallback ?? "");
  const choices = [
    ...(fallback ? [] : [{ value: "", label: text.all }]),
    ...RANGES.map((each) => ({ value: each as string, label: text.ranges[each] })),
    { value: "custom", label: text.custom },
  ];
  function choose(chosen: string): void {
    setIsCustom(chosen === "custom");
    if (chosen === "custom") return;
    onChange(chosen === "" ? {} : { range: chosen as RelativeRange });
  }
  return (
    <Group gap="xs" align="flex-start">
      <NativeSelect
        label={text.range}
        w={{ sm: 150 }}
        value={value}
        data={choices}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      {value === "custom" && <CustomRange range={range} onChange={onChange} />}
    </Group>
  );
}

function CustomRange({ range, onChange }: Pick<Props, "range" | "onChange">) {
  const zone = useZone();
  const [from, setFrom] = useState(() => toWall(range.from, zone));
  const [to, setTo] = useState(() => toWall(range.to, zone));
  const [error, setError] = useState<string>();
  if (useIsAnother(`${range.from} ${range.to}`)) {
    setFrom(toWall(range.from, zone));
    setTo(toWall(range.to, zone));
  }
  function apply(): void {
    const [begin, end] = [fromWall(from, zone), fromWall(to, zone)];
    if (begin === undefined || end === undefined || begin >= end) return setError(text.wrongOrder);
    setError(undefined);
    onChange({ from: begin, to: end });
  }
  return (
    <Group gap="xs" align="flex-end">
      <TextInput
        type="datetime-local"
        label={text.from}
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label={text.to}
        value={to}
        error={error}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <Button variant="default" onClick={apply}>
        {text.apply}
      </Button>
    </Group>
  );
}

/** The range in words, for a pill. */
export function rangeInWords(range: RangeSearch, zone: Zone): string | undefined {
  if (range.range) return text.ranges[range.range];
  if (!range.from || !range.to) return undefined;
  return text.customOf(formatDayMinute(range.from, zone), formatDayMinute(range.to, zone));
}
