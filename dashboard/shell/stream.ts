import { useDocumentVisibility } from "@mantine/hooks";
import { useEffect, useEffectEvent, useState } from "react";

/** Lost streams are tried again after this long; meanwhile the page polls at the same pace. */
const RETRY_MS = 10_000;
/** Events of one batch arrive one by one; they are handed on together. */
const GATHER_MS = 50;

type Typed = { type: string };

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

type Handlers<Event> = { onEvents: (events: Event[]) => void; onState: (isOn: boolean) => void };

function listen<Event extends Typed>(address: string, { onEvents, onState }: Handlers<Event>) {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let gather: ReturnType<typeof setTimeout> | undefined;
  let gathered: Event[] = [];

  function hand(): void {
    const events = gathered;
    gathered = [];
    gather = undefined;
    onEvents(events);
  }

  function open(): void {
    source = new EventSource(address);
    source.addEventListener("open", () => onState(true));
    source.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const told = JSON.parse(data) as Event | Event[];
      gathered.push(...(Array.isArray(told) ? told : [told]));
      gather ??= setTimeout(hand, GATHER_MS);
    });
    source.addEventListener("error", () => {
      onState(false);
      // The browser itself tries again, except where the answer was an error.
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_MS);
    });
  }

  open();
  return () => {
    source?.close();
    clearTimeout(retry);
    clearTimeout(gather);
  };
}
