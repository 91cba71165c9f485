import { Tooltip, UnstyledButton } from "@mantine/core";
import { useRelativeNow } from "../clock.ts";
import {
  formatClock,
  formatDayClock,
  formatMinuteOfDay,
  formatRelative,
  formatTime,
  toIso,
} from "../format.ts";
import { words } from "../text/words.ts";
import { Announcement, SPOKEN, useCopy } from "./copy-button.tsx";
import classes from "./time.module.css";
import { useZone } from "./zone.tsx";

type Props = {
  at: string;
  /** `clock` has milliseconds but no day, `dayClock` both; `minute` is "09:30". */
  form?: "full" | "clock" | "dayClock" | "minute" | "relative";
};

/** A time in the reader's zone. Hover or focus shows it in full, a click copies it as ISO 8601. */
export function Time({ at, form = "full" }: Props) {
  const zone = useZone();
  const relative = formatRelative(at, useRelativeNow());
  const shown = {
    full: () => formatTime(at, zone),
    clock: () => formatClock(at, zone),
    dayClock: () => formatDayClock(at, zone),
    minute: () => formatMinuteOfDay(at, zone),
    relative: () => relative,
  }[form]();
  const hint = words.timeHint(formatTime(at, zone), toIso(at), relative);
  const { outcome, copy } = useCopy({ text: toIso(at) });
  return (
    <Tooltip
      label={SPOKEN[outcome] || hint}
      multiline
      // Not above, where the label of the time is; and a pointer that only passes by opens nothing.
      position="bottom-start"
      openDelay={300}
      events={{ hover: true, focus: true, touch: true }}
    >
      <UnstyledButton
        className={classes["time"]}
        aria-label={words.copyTime(shown)}
        onClick={(event) => {
          event.stopPropagation();
          copy();
        }}
      >
        <time dateTime={toIso(at)}>{shown}</time>
        <Announcement outcome={outcome} />
      </UnstyledButton>
    </Tooltip>
  );
}
