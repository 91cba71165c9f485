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
  used: (change: string) => `usage: ${change}`,
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
  toggleOf: (toggle: string, chart: string) => `${toggle}: ${chart}`,
  csvOf: (chart: string) => `CSV of ${chart}`,
  tableOf: (chart: string) => `${chart} as a table`,
  from: "From",
  emptyRange: "Nothing in this range",
  emptyRangeHint: "No messages were accepted in this range.",
  last30: "Show the last 30 days",
  statusSummary: (all: string, delivered: string, bad: string, notFinal: string) =>
    `${all}: ${delivered} delivered, ${bad} undelivered or failed${notFinal}.`,
  notFinal: (open: string) => `, ${open} not final yet`,
  latencySummary: (p50: string, p95: string) =>
    `Slowest interval: 50 % within ${p50}, 95 % within ${p95}.`,
  latencyNone: "Nothing was delivered in this range.",
  creditsNone: "Nothing was charged in this range.",
  creditsSummary: (charged: string, refunded: string) =>
    `${charged} charged, ${refunded} refunded.`,
  p50: "p50",
  p95Short: "p95",
  charged: "Charged",
  refunded: "Refunded",
  state: "Current state",
  noCarrierDown: "No carriers down",
  receiversUp: "No events waiting for a failing receiver",
  retrying: (events: string) => `${events} retrying`,
  creditsFor: (days: string) => `Credits left for ${days}`,
  alerts: "Needs attention",
  /** Each takes the number of alerts, and the names or else the count. */
  alertTexts: {
    credits_low: () => "Credits are low.",
    credits_gone: () => "No credits are left: nothing can be sent.",
    key_expiring: (count, names) =>
      count === 1 ? `The key “${names}” expires soon.` : `Keys expiring soon: ${names}.`,
    receiver_failing: (count, names) =>
      count === 1
        ? `${names} is failing; events are waiting for it.`
        : `Events are waiting for failing receivers: ${names}.`,
    deliveries_exhausted: (count, shown) =>
      count === 1
        ? "A webhook delivery is exhausted."
        : `${shown} webhook deliveries are exhausted.`,
    carrier_down: (count, names) =>
      count === 1 ? `The carrier ${names} is down.` : `Carriers down: ${names}.`,
  } satisfies Record<Alert["kind"], (count: number, names: string) => string>,
  andMore: (names: string, more: string) => `${names} and ${more} more`,
  alertActions: {
    credits_low: "View credits",
    credits_gone: "View credits",
    key_expiring: "View keys",
    receiver_failing: "View receivers",
    deliveries_exhausted: "View deliveries",
    carrier_down: "View carriers",
  } satisfies Record<Alert["kind"], string>,
} as const;

export const walkText = {
  title: "Your first message in two minutes",
  goOn: "Next steps",
  hide: "Hide",
  progress: (done: number, all: number) => `${done} of ${all} done`,
  done: "Done",
  key: "Create an API key",
  keyHint: "It lets your server send. The full key is shown once, so keep it at hand.",
  keyAction: "Create a key",
  send: "Send a message",
  sendHint:
    "Until the operator adds a carrier, the simulator takes every message: nothing reaches a phone, and every outcome can be tried. Put your key into POSTHORN_API_KEY first, or send from the browser.",
  sendAction: "Compose in the browser",
  samples: "Send with the API",
  copyIn: (language: string) => `Copy ${language}`,
  exportKey: "export POSTHORN_API_KEY=sms_…",
  webhook: "Receive a webhook",
  webhookHint:
    "Add callbackUrl to a send, and every change of status is posted there, signed. No address of your own yet? This shows each event in your terminal:",
  webhookAction: "Send a test event",
  copyListen: "Copy command",
  invite: "Invite someone",
  inviteHint: "You get a link that works once. No e-mail is sent.",
  inviteAction: "Invite",
} as const;
