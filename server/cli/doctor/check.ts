import { messageOf } from "#platform";

/** What doctor found out about one thing, and what to do about it. */
export type Check = {
  name: string;
  state: "ok" | "warning" | "fault";
  message: string;
  /** Null if there is nothing to do. */
  fix: string | null;
};

export function ok(name: string, message: string): Check {
  return { name, state: "ok", message, fix: null };
}

export function warning(name: string, message: string, fix: string): Check {
  return { name, state: "warning", message, fix };
}

/** Combines several warnings about one thing. */
export function warnings(name: string, found: readonly Record<"message" | "fix", string>[]): Check {
  const said = (part: "message" | "fix") => found.map((each) => each[part]).join(" ");
  return warning(name, said("message"), said("fix"));
}

export function fault(name: string, message: string, fix: string): Check {
  return { name, state: "fault", message, fix };
}

/** If a check itself fails, that is a finding too; the other checks still run. */
export async function attempt(
  name: string,
  check: () => Promise<Check | Check[]>,
): Promise<Check[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    return [fault(name, messageOf(error), "Fix that, then run doctor again.")];
  }
}
