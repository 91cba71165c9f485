import { useDocumentVisibility } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { nowMs } from "../clock.ts";
import { askAgainAll } from "../use-read.ts";
import { listen, RETRY_MS, type Typed } from "./listen.ts";

/**
 * Listens to server-sent events while the tab is visible: browsers allow six connections per host,
 * so hidden tabs must not hold one. Returns since when the stream is off (0 if it never was on),
 * undefined while it is on. While it is off, `onEvents` gets `all` every 10 s. Once it is back, what
 * failed meanwhile is asked again: a resumed stream tells only what has changed.
 */
export function useStream<Event extends Typed>(
  address: string,
  onEvents: (events: Event[]) => void,
): number | undefined {
  const client = useQueryClient();
  const heardAt = useRef(0);
  const [silentSince, setSilentSince] = useState<number>();
  const isOn = silentSince === undefined;
  const isVisible = useDocumentVisibility() === "visible";
  const tell = useEffectEvent(onEvents);

  useEffect(() => {
    if (!isVisible) return;
    return listen<Event>(address, {
      onEvents: (events) => tell(events),
      onHeard: () => (heardAt.current = nowMs()),
      onState(isHeard) {
        setSilentSince(isHeard ? undefined : heardAt.current);
        if (isHeard) askAgainAll(client, { predicate: ({ state }) => state.status === "error" });
      },
    });
  }, [address, client, isVisible]);

  useEffect(() => {
    if (isOn || !isVisible) return;
    const timer = setInterval(() => tell([{ type: "all" } as Event]), RETRY_MS);
    return () => clearInterval(timer);
  }, [isOn, isVisible]);
  return silentSince;
}
