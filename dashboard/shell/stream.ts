import { useDocumentVisibility } from "@mantine/hooks";
import { useEffect, useEffectEvent, useState } from "react";
import { listen, RETRY_MS, type Typed } from "./listen.ts";

/**
 * Listens to a stream of server-sent events while the tab is visible: browsers allow six connections
 * to a host, so hidden tabs must not hold one. Answers whether the stream is on; while it is off,
 * `onEvents` is told `all` every 10 s.
 */
export function useStream<Event extends Typed>(
  address: string | undefined,
  onEvents: (events: Event[]) => void,
): boolean {
  const [isOn, setIsOn] = useState(true);
  const isVisible = useDocumentVisibility() === "visible";
  const tell = useEffectEvent(onEvents);

  useEffect(() => {
    if (address === undefined || !isVisible) return;
    return listen<Event>(address, { onEvents: (events) => tell(events), onState: setIsOn });
  }, [address, isVisible]);

  useEffect(() => {
    if (isOn || !isVisible) return;
    const timer = setInterval(() => tell([{ type: "all" } as Event]), RETRY_MS);
    return () => clearInterval(timer);
  }, [isOn, isVisible]);
  return isOn;
}
