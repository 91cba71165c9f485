/**
 * Sending: hands queued messages to their carriers and applies what comes back. Routing, the send
 * loop, receipts, doubts, and the share of each node in the binds of a carrier.
 * Decides what an answer means; how a message changes is the messages room's.
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
