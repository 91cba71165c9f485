import type { CarrierState } from "#carriers";
import { Tally } from "./smpp/tally.ts";

export const notStarted: CarrierState = {
  state: "down",
  takesMessages: false,
  links: [],
  submitsPerSecond: 0,
  receiptsPerSecond: 0,
  responseMs: null,
  counts: new Tally().counts,
  statuses: {},
};
