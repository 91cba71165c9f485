/** How `validity_period` is written; some SMSCs take only one form, some none. */
export type ValidityForm = "relative" | "absolute" | "none";

/**
 * Writes what is left of the message's validity as the protocol writes times. Never nothing: an
 * empty field would give the message the carrier's own, longer validity.
 */
export function validityPeriod(form: ValidityForm, seconds: number, now: () => Date): string {
  const left = Math.max(1, Math.floor(seconds));
  switch (form) {
    case "none":
      return "";
    case "relative":
      return relativeTime(left);
    case "absolute":
      return absoluteTime(new Date(now().getTime() + left * 1000));
  }
}

/** Years, months, days, hours, minutes, seconds from now. Days stay below 100: validity is 3. */
function relativeTime(seconds: number): string {
  const days = Math.min(99, Math.floor(seconds / 86_400));
  const [hours, minutes] = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return `0000${two(days)}${two(hours)}${two(minutes)}${two(seconds % 60)}000R`;
}

/** In UTC, so the offset in quarter hours is zero. */
function absoluteTime(time: Date): string {
  return `${time
    .toISOString()
    .replace(/[^0-9]/g, "")
    .slice(2, 14)}000+`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
