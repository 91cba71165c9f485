/**
 * Carriers: the upstream networks. The Carrier type, the SMPP 3.4 client, the built-in simulator,
 * and an SMSC to test against. Carriers take segments and report what became of them; they know
 * nothing of accounts, credits or SQL, and decide nothing about retries.
 */
export type {
  Carrier,
  CarrierCounts,
  CarrierState,
  LinkState,
  OutgoingSegment,
  Receipt,
  ReceiptRules,
  ReceiptSink,
  Speed,
  SubmitOutcome,
} from "./carrier.ts";
export { smppCarrier } from "./smpp/carrier.ts";
export {
  describeSmppSettings,
  passwordFault,
  passwordWarnings,
  readSmppSettings,
  type SettingDescription,
} from "./smpp/read-settings.ts";
export type { SmppSettings } from "./smpp/settings.ts";
export { type BindTest, testBind } from "./smpp/test-bind.ts";
export { notStarted } from "./not-started.ts";
export { simulatorCarrier } from "./simulator.ts";
export {
  receiptForms,
  type ReceiptScript,
  receiptTimes,
  replies,
  type Reply,
  type SmscOptions,
} from "./smsc-script.ts";
export { startSmsc } from "./smsc.ts";
