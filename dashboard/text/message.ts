export const rulerText = {
  segmentEnds: (number: number) => `Segment ${number} ends here`,
  forces: (character: string) => {
    const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `U+${point} is not in the GSM alphabet`;
  },
  marked: "The marked characters are not in the GSM alphabet, so the whole text is sent as UCS-2.",
} as const;

export const messageText = {
  title: "Message",
  titleOf: (recipient: string) => `Message to ${recipient}`,
  notFound: "No such message",
  notFoundHint: "No message of this account has this id. It may belong to another account.",
  searchMessages: "Search messages",
  cancel: "Cancel message",
  cancelTitle: "Cancel this message?",
  cancelText: "It ends FAILED with CANCELED, and its credits are refunded.",
  cancelConfirm: "Cancel message",
  keepIt: "Keep it",
  sendAgain: "Send again",
  copyCurl: "Copy as cURL",
  textGone: "The text was redacted: it is older than this installation keeps texts.",
  copyId: "Copy message id",
  text: "Text",
  textWithheld: "Your role cannot see the text.",
  timeline: "Timeline",
  facts: "Details",
  json: "JSON",
  view: "View",
  viewStory: "Summary",
  webhooks: "Webhook deliveries",
  waitingForWorker: "Waiting for the send worker.",
  waitingFor: (carrier: string) => `Waiting for the send worker to hand it to ${carrier}.`,
  carrierAway: {
    down: (carrier: string) =>
      `Waiting for ${carrier}, which is down. It is sent when the carrier is back, unless it expires first.`,
    paused: (carrier: string) =>
      `Waiting for ${carrier}, which the operator has paused. It is sent when the carrier is resumed, unless it expires first.`,
  },
  dueAt: (time: string) => `Due at ${time}.`,
  labels: {
    messageId: "Message id",
    recipient: "Recipient",
    sender: "Sender",
    encoding: "Encoding",
    segments: "Segments",
    credits: "Charged",
    creditsRefunded: "Refunded",
    reference: "Reference",
    metadata: "Metadata",
    callbackUrl: "Callback address",
    key: "Key",
    carrier: "Carrier",
    routedTo: "Routed to",
    createdAt: "Created",
    sendAt: "Send at",
    expiresAt: "Expires",
    sentAt: "Sent",
    deliveredAt: "Delivered",
    updatedAt: "Last change",
  },
  senderDefault: "The carrier's default",
  fromConsole: "Dashboard",
  inLedger: "View in ledger",
  carrierCode: (code: string) => `carrier code ${code}`,
  whatToDo: "What to do",
} as const;

export const timelineText = {
  accepted: (credits: string) => `Accepted, charged ${credits}`,
  becameSent: "SENT: the carrier has all segments",
  becameDelivered: "DELIVERED to the handset",
  becameUndelivered: "UNDELIVERED",
  becameFailed: (refunded: string) => `FAILED, ${refunded} refunded`,
  submitted: (carrier: string) => `Handed to ${carrier}`,
  submittedPart: (segment: string, carrier: string) => `${segment} handed to ${carrier}`,
  refusedForNow: (segment: string, carrier: string) =>
    `${carrier} refused ${segment} for now; it will be tried again`,
  refused: (segment: string, carrier: string) => `${carrier} refused ${segment} for good`,
  unsent: (segment: string, carrier: string) => `${segment} was not sent to ${carrier}`,
  doubt: (segment: string, carrier: string) =>
    `In doubt: ${carrier} may or may not have ${segment}`,
  resent: "Sent again, by the carrier's setting.",
  failedInDoubt: "Not sent again.",
  receipt: (state: string, carrier: string) => `${carrier} reports ${state}`,
  receiptOfPart: (state: string, carrier: string, segment: string) =>
    `${carrier} reports ${state} for ${segment}`,
  keptOnly: "Kept, changed nothing.",
  theMessage: "the message",
  segmentOf: (segment: number, all: number) => `segment ${segment} of ${all}`,
  after: (duration: string) => `after ${duration}`,
  carrierId: (id: string) => `Carrier message id ${id}`,
  carrierCode: (code: string) => `Carrier code ${code}`,
  webhook: (event: string, state: string, attempts: string) =>
    `Webhook ${event}: ${state}, ${attempts}`,
} as const;
