/** Retries a lost stream after this time; meanwhile the page polls at the same interval. */
export const RETRY_MS = 10_000;
/** The service sends something at least every 15 s. */
const SILENCE_MS = 40_000;
/** The events of one batch arrive one by one; this collects them. */
const GATHER_MS = 50;

export type Typed = { type: string };

type Handlers<Event> = {
  onEvents: (events: Event[]) => void;
  /** Called at each sign of life. */
  onHeard?: () => void;
  onState: (isOn: boolean) => void;
};

/**
 * Keeps a stream open until told to stop. A stream that is silent for longer than the service ever
 * is counts as lost even if its connection stands: the service hangs, or the network is down.
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
      gathered.push(JSON.parse(data) as Event);
      gather ??= setTimeout(hand, GATHER_MS);
    });
    source.addEventListener("error", () => {
      onState(false);
      // The browser retries by itself, unless the answer was an error.
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
