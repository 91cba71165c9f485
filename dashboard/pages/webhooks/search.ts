import { type RangedPageSearch, readRangedPage } from "../../range.ts";
import {
  present,
  type RawSearch,
  readChoice,
  readChoices,
  readId,
  readText,
} from "../../search.ts";
import { DELIVERY_STATES, EVENTS } from "../../vocabulary.ts";

export const TABS = ["deliveries", "hosts", "secret", "verify"] as const;

export type WebhooksSearch = RangedPageSearch & {
  /** If left out, the tab with the deliveries. */
  tab?: Exclude<(typeof TABS)[number], "deliveries">;
  state?: (typeof DELIVERY_STATES)[number][];
  event?: (typeof EVENTS)[number][];
  host?: string;
  messageId?: string;
  httpStatus?: string;
  /** The delivery open in the drawer. */
  id?: string;
  dialog?: "test" | "replay";
  /** The replay that the dialog shows the progress of, also when it is opened again. */
  replay?: string;
};

export function readWebhooks(raw: RawSearch): WebhooksSearch {
  return {
    ...readRangedPage(raw),
    ...present({
      tab: readChoice(raw["tab"], ["hosts", "secret", "verify"]),
      state: readChoices(raw["state"], DELIVERY_STATES),
      event: readChoices(raw["event"], EVENTS),
      host: readText(raw["host"], 300),
      messageId: readId(raw["messageId"]),
      httpStatus: readHttpStatus(raw["httpStatus"]),
      id: readId(raw["id"]),
      dialog: readChoice(raw["dialog"], ["test", "replay"]),
      replay: readId(raw["replay"]),
    }),
  };
}

export function readHttpStatus(value: unknown): string | undefined {
  const status = readText(value, 3) ?? "";
  return /^[1-9]\d\d$/.test(status) ? status : undefined;
}
