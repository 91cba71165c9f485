import { useEffect, useState, useSyncExternalStore } from "react";

/** The one place of the dashboard that reads the clock. */
export function nowMs(): number {
  return Date.now();
}

/** Now, and again every second: for countdowns. */
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
 * Now, and again twice a minute: for "3 minutes ago". One timer serves all that is shown. The time is
 * that of drawing, not of the tick: what has just happened would else be still to come.
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
