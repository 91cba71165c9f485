import { LIMIT_MS } from "./eventually.ts";

/** A browser's view of a stream of server-sent events. */
export type EventStream = AsyncDisposable & {
  /** The next event; fails if the stream ends first. */
  next(): Promise<{ id: string | undefined; data: Record<string, unknown> }>;
  /** All events up to and including the first that fits. */
  until(fits: (data: Record<string, unknown>) => boolean): Promise<Record<string, unknown>[]>;
  /** The id with which a browser would reconnect. */
  readonly lastEventId: string;
  readonly status: number;
};

export async function openStream(
  url: string,
  headers: Record<string, string>,
): Promise<EventStream> {
  const stopping = new AbortController();
  const answer = await fetch(url, { headers, signal: stopping.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let lastEventId = "";

  async function block(): Promise<string> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const found = text.slice(0, end);
        text = text.slice(end + 2);
        return found;
      }
      const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) throw new Error("The stream ended.");
      text += value;
    }
  }

  async function wait() {
    for (;;) {
      const lines = (await block()).split("\n");
      const id = lines.find((line) => line.startsWith("id: "))?.slice(4);
      if (id !== undefined) lastEventId = id;
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (data !== undefined) return { id, data: JSON.parse(data) as Record<string, unknown> };
    }
  }

  /** Fails after a while, as a test must end even if the event never comes. */
  function next() {
    const inVain = new Promise<never>((_resolve, reject) => {
      const limit = AbortSignal.timeout(LIMIT_MS);
      limit.addEventListener("abort", () => reject(new Error("waited in vain for an event")));
    });
    return Promise.race([wait(), inVain]);
  }

  return {
    next,
    async until(fits) {
      const seen: Record<string, unknown>[] = [];
      for (;;) {
        const { data } = await next();
        seen.push(data);
        if (fits(data)) return seen;
      }
    },
    get lastEventId() {
      return lastEventId;
    },
    status: answer.status,
    async [Symbol.asyncDispose]() {
      // Frees what arrived and nobody read: until then, a stream in between would never end.
      await reader?.cancel().catch(() => undefined);
      stopping.abort();
    },
  };
}
