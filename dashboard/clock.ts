import { useEffect, useState, useSyncExternalStore } from "react";

/** The only code of the dashboard that reads the clock. */
export function nowMs(): number {
  return Date.now();
}

/** The current time, updated every second: for countdowns. */
export function useNow(): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMs()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Often enough for "3 minutes ago". */
const TICK_MS = 30_000;

let ticks = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const drawAgain = new Set<() => void>();

/**
 * The current time, updated twice a minute: for "3 minutes ago". One timer serves the whole page.
 * The time is that of drawing, not of the tick; else recent events would lie in the future.
 */
export function useRelativeNow(): number {
  useSyncExternalStore(onTick, () => ticks);
  return nowMs();
}

function onTick(draw: () => void): () => void {
  drawAgain.add(draw);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    drawAgain.delete(draw);
    if (drawAgain.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  ticks += 1;
  for (const draw of drawAgain) draw();
}
