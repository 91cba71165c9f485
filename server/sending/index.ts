/**
 * Sending: hands queued messages to their carriers and applies what comes back. Covers routing, the
 * send loop, receipts, doubts, and each node's share of the binds of a carrier. This room decides
 * what an answer means; the messages room decides how a message changes.
 */
export { changedSettings, shownSettings } from "./carrier-secrets.ts";
export { findCarriersAway, readCarrierStates, type SeenCarrier } from "./carrier-states.ts";
export {
  addCarrier,
  addSimulator,
  type CarrierRow,
  changeCarrier,
  findCarrierNames,
  listCarriers,
  onlyReceives,
  removeCarrier,
  resealCarriers,
} from "./carriers-table.ts";
export { carrierFleet } from "./fleet.ts";
export { untilHeldBack } from "./held-back.ts";
export { findLastCarriers, submissionHistory } from "./history.ts";
export { measureParked, observeSending } from "./observe.ts";
export { openCarrier } from "./open-carrier.ts";
export { testCarrier } from "./test-carrier.ts";
export { forgetKilledNodes, listNodes, livingSenders, presence } from "./nodes.ts";
