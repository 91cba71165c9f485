/** Lost streams are tried again after this long; meanwhile the page polls at the same pace. */
export const RETRY_MS = 10_000;
/** The service says at least every 15 s that it is there. */
const SILENCE_MS = 40_000;
/** Events of one batch arrive one by one; they are handed on together. */
const GATHER_MS = 50;

export type Typed = { type: string };

type Handlers<Event> = {
  onEvents: (events: Event[]) => void;
  /** At each sign of life. */
  onHeard?: () => void;
  onState: (isOn: boolean) => void;
};

/**
 * Opens a stream until it is told to stop. One that says nothing for longer than the service is ever
 * silent is lost too, though the connection stands: the service hangs, or the way to it is gone.
 */
export function listen<Event extends Typed>(
  address: string,
  { onEvents, onHeard, onState }: Handlers<Event>,
) {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let gather: ReturnType<typeof setTimeout> | undefined;
  let gathered: Event[] = [];

  function hand(): void {
    const events = gathered;
    gathered = [];
    gather = undefined;
    onEvents(events);
  }

  function hear(): void {
    onHeard?.();
    awaitMore();
  }

  function awaitMore(): void {
    clearTimeout(silence);
    silence = setTimeout(() => {
      onState(false);
      source?.close();
      open();
    }, SILENCE_MS);
  }

  function open(): void {
    source = new EventSource(address);
    awaitMore();
    source.addEventListener("open", () => {
      onState(true);
      hear();
    });
    source.addEventListener("beat", hear);
    source.addEventListener("message", ({ data }: MessageEvent<string>) => {
      hear();
      const told = JSON.parse(data) as Event | Event[];
      gathered.push(...(Array.isArray(told) ? told : [told]));
      gather ??= setTimeout(hand, GATHER_MS);
    });
    source.addEventListener("error", () => {
      onState(false);
      // The browser itself tries again, except where the answer was an error.
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(silence);
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_MS);
    });
  }

  open();
  return () => {
    source?.close();
    clearTimeout(retry);
    clearTimeout(silence);
    clearTimeout(gather);
  };
}
