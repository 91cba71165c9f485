import type { Alert } from "#contract";

export const overviewText = {
  title: "Overview",
  sent: "Messages",
  rate: "Delivery rate",
  p95: "Time to delivery, p95",
  credits: "Credits",
  notEnough: "not enough data",
  rateCounts: (delivered: string, final: string) => `${delivered} of ${final} final`,
  noDelivery: "none delivered",
  daysLeft: (days: string) => `about ${days} at this rate`,
  underADay: "less than a day at this rate",
  usedOnly: (used: string) => `${used} used in this range`,
  change: (change: string) => `${change} vs. previous period`,
  upFrom: (before: string) => `up from ${before} in previous period`,
  points: (change: string) => `${change} points`,
  used: (change: string) => `used: ${change}`,
  noneBefore: "none in previous period",
  same: "same as previous period",
  byStatus: "Messages by status",
  latency: "Time to delivery",
  creditsUse: "Credits used",
  errors: "Delivery errors",
  share: (count: string, share: string) => `${count} (${share})`,
  noErrors: "No message ended with an error in this range.",
  webhooks: "Webhooks",
  webhookCounts: {
    delivered: "Delivered",
    undelivered: "Not delivered yet",
    exhausted: "Exhausted",
    failedAttempts: "Failed attempts",
  },
  showTable: "Show as table",
  showChart: "Show as chart",
  csv: "CSV",
  csvOf: (chart: string) => `CSV of ${chart}`,
  tableOf: (chart: string) => `${chart} as a table`,
  from: "From",
  emptyRange: "Nothing in this range",
  emptyRangeHint: "No message was accepted in it.",
  last30: "Show the last 30 days",
  statusSummary: (all: string, delivered: string, bad: string, notFinal: string) =>
    `${all}: ${delivered} delivered, ${bad} undelivered or failed${notFinal}.`,
  notFinal: (open: string) => `, ${open} not final yet`,
  latencySummary: (p50: string, p95: string) => `Slowest interval: half in ${p50}, 95 % in ${p95}.`,
  latencyNone: "Nothing was delivered in this range.",
  creditsNone: "Nothing was charged in this range.",
  creditsSummary: (charged: string, refunded: string) =>
    `${charged} charged, ${refunded} refunded.`,
  p50: "p50",
  p95Short: "p95",
  charged: "Charged",
  refunded: "Refunded",
  state: "How things stand",
  noCarrierDown: "No carrier down",
  receiversUp: "No events wait for a failing receiver",
  retrying: (events: string) => `${events} retrying`,
  creditsFor: (days: string) => `Credits for ${days}`,
  alerts: "Needs attention",
  /** Each of how many, and of which, or else how many in figures. */
  alertTexts: {
    credits_low: () => "Credits are low.",
    credits_gone: () => "No credits are left: nothing can be sent.",
    key_expiring: (count, names) =>
      count === 1 ? `The key ${names} expires soon.` : `Keys that expire soon: ${names}.`,
    receiver_failing: (count, names) =>
      count === 1
        ? `${names} is failing, and events wait for it.`
        : `Events wait for failing receivers: ${names}.`,
    deliveries_exhausted: (count, shown) =>
      count === 1
        ? "A webhook delivery is exhausted."
        : `${shown} webhook deliveries are exhausted.`,
    carrier_down: (count, names) =>
      count === 1 ? `The carrier ${names} is down.` : `Carriers that are down: ${names}.`,
  } satisfies Record<Alert["kind"], (count: number, names: string) => string>,
  andMore: (names: string, more: string) => `${names} and ${more} more`,
  alertActions: {
    credits_low: "Open credits",
    credits_gone: "Open credits",
    key_expiring: "Open keys",
    receiver_failing: "Open receivers",
    deliveries_exhausted: "Open deliveries",
    carrier_down: "Open carriers",
  } satisfies Record<Alert["kind"], string>,
} as const;

export const walkText = {
  title: "Your first message in two minutes",
  goOn: "What is next",
  hide: "Hide",
  progress: (done: number, all: number) => `${done} of ${all} done`,
  done: "Done",
  key: "Create an API key",
  keyHint: "It lets your server send. The full key is shown once, so keep it at hand.",
  keyAction: "Create a key",
  send: "Send a message",
  sendHint:
    "Until the operator adds a carrier, the simulator takes every message: nothing reaches a phone, and every ending can be tried. Put your key into POSTHORN_API_KEY first, or send from the browser.",
  sendAction: "Compose in the browser",
  samples: "Send by the API",
  copyIn: (language: string) => `Copy ${language}`,
  exportKey: "export POSTHORN_API_KEY=sms_…",
  webhook: "Receive a webhook",
  webhookHint:
    "Add callbackUrl to a send, and every change of status is posted there, signed. Without an address of your own, this shows each event in the terminal:",
  webhookAction: "Send a test event",
  copyListen: "Copy command",
  invite: "Invite someone",
  inviteHint: "By a link that works once. Nobody gets a mail.",
  inviteAction: "Invite",
} as const;
