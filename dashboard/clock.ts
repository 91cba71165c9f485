import { useEffect, useState } from "react";

/** The one place of the dashboard that reads the clock. */
export function nowMs(): number {
  return Date.now();
}

/** Now, and again after each interval: for countdowns and "3 minutes ago". */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMs()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
