import type {
  Credits,
  HistoryEntry,
  ListQuery,
  Message,
  MessageBatch,
  MessagePage,
  NewMessage,
  Preview,
  Status,
} from "./model.ts";
import {
  type CallOptions,
  createTransport,
  type PosthornOptions,
  type Transport,
} from "./transport.ts";

/** A message to send; a time may also be a `Date`. */
export type SendMessage = Omit<NewMessage, "sendAt"> & { sendAt?: string | Date | null };

export type SendOptions = CallOptions & {
  /**
   * If left out, each call makes its own, which covers the retries of that call. Pass your own,
   * such as an order number, if your program may restart and call again.
   */
  idempotencyKey?: string;
};

/** Filters of a list; `limit` is the size of a page, not of the list. */
export type ListFilters = Omit<ListQuery, "status" | "createdAfter" | "createdBefore"> & {
  status?: Status | Status[];
  createdAfter?: string | Date;
  createdBefore?: string | Date;
};

/** The client of the service: `new Posthorn({ apiKey, baseUrl }).messages.send({ … })`. */
export class Posthorn {
  readonly messages: Messages;
  readonly credits: CreditBalance;

  constructor(options: PosthornOptions) {
    if (!options.apiKey)
      throw new TypeError("apiKey is missing. Keys are created in the dashboard.");
    // Headers reject such characters, and the error of the first call would contain the whole key.
    if (!/^[!-~]+$/.test(options.apiKey.trim())) {
      throw new TypeError(
        "apiKey contains characters that no key has. Pass the full key, as it was shown when created.",
      );
    }
    if ("document" in globalThis) {
      throw new TypeError("An API key must not be used in a browser: everyone could read it.");
    }
    const transport = createTransport(options);
    this.messages = new Messages(transport);
    this.credits = new CreditBalance(transport);
  }
}

class Messages {
  readonly #call: Transport;

  constructor(call: Transport) {
    this.#call = call;
  }

  /** Sends a message. Once this resolves, the message is stored and charged, and will be sent. */
  send(message: SendMessage, options: SendOptions = {}): Promise<Message> {
    return this.#call({
      method: "POST",
      path: "/v1/messages",
      body: message,
      ...options,
      idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
    });
  }

  /** Sends 1 to 1,000 messages: all of them are accepted, or none. */
  async sendBatch(messages: SendMessage[], options: SendOptions = {}): Promise<Message[]> {
    const { data } = await this.#call<MessageBatch>({
      method: "POST",
      path: "/v1/messages/batch",
      body: { messages },
      ...options,
      idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
    });
    return data;
  }

  /** What a message would cost; nothing is stored or charged. */
  preview(message: SendMessage, options: CallOptions = {}): Promise<Preview> {
    return this.#call({
      method: "POST",
      path: "/v1/messages/preview",
      body: message,
      ...options,
    });
  }

  /** Messages, newest first: all with `for await`, or page by page. */
  list(filters: ListFilters = {}, options: CallOptions = {}): MessageList {
    return new MessageList(this.#call, filters, options);
  }

  get(messageId: string, options: CallOptions = {}): Promise<Message> {
    return this.#call({ method: "GET", path: messagePath(messageId), ...options });
  }

  /** What happened to a message: statuses with their webhooks, submissions, receipts; oldest first. */
  async events(messageId: string, options: CallOptions = {}): Promise<HistoryEntry[]> {
    const path = `${messagePath(messageId)}/events`;
    const { data } = await this.#call<{ data: HistoryEntry[] }>({
      method: "GET",
      path,
      ...options,
    });
    return data;
  }

  /** Cancels a message that still waits; it ends FAILED with CANCELED and is refunded. */
  cancel(messageId: string, options: CallOptions = {}): Promise<Message> {
    return this.#call({ method: "POST", path: `${messagePath(messageId)}/cancel`, ...options });
  }
}

class CreditBalance {
  readonly #call: Transport;

  constructor(call: Transport) {
    this.#call = call;
  }

  get(options: CallOptions = {}): Promise<Credits> {
    return this.#call({ method: "GET", path: "/v1/credits", ...options });
  }
}

export class MessageList implements AsyncIterable<Message> {
  readonly #call: Transport;
  readonly #filters: ListFilters;
  readonly #options: CallOptions;

  constructor(call: Transport, filters: ListFilters, options: CallOptions) {
    this.#call = call;
    this.#filters = filters;
    this.#options = options;
  }

  /** One page: the first, or the one at `cursor`, which is the `nextCursor` of another page. */
  page(cursor?: string): Promise<MessagePage> {
    const query = toQuery({ ...this.#filters, ...(cursor === undefined ? {} : { cursor }) });
    return this.#call({ method: "GET", path: "/v1/messages", query, ...this.#options });
  }

  async *pages(): AsyncGenerator<MessagePage, void, undefined> {
    let page = await this.page();
    yield page;
    while (page.nextCursor !== null) {
      page = await this.page(page.nextCursor);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}

/** Whatever an id contains, it must not lead to another path. */
function messagePath(messageId: string): string {
  if (!messageId) throw new TypeError("messageId is missing.");
  // URLs treat these as path steps, even if they are encoded.
  if (messageId === "." || messageId === "..") throw new TypeError("messageId is not an id.");
  return `/v1/messages/${encodeURIComponent(messageId)}`;
}

function toQuery(filters: ListFilters): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined) continue;
    for (const each of [value].flat()) {
      query.append(name, each instanceof Date ? each.toISOString() : String(each));
    }
  }
  return query;
}
