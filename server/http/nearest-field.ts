import { nearest } from "#platform";

/** The known field that a wrong name most likely means: by its spelling, or as a synonym. */
export function nearestField(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known);
  if (near !== undefined) return near;
  const meant = SYNONYMS[name.toLowerCase().replaceAll(/[_\-\s]/g, "")];
  return meant !== undefined && known.includes(meant) ? meant : undefined;
}

/** The names that other services use for the same thing. */
const SYNONYMS: Record<string, string> = {
  to: "recipient",
  phone: "recipient",
  number: "recipient",
  phonenumber: "recipient",
  destination: "recipient",
  from: "sender",
  source: "sender",
  originator: "sender",
  body: "text",
  message: "text",
  content: "text",
  callback: "callbackUrl",
  webhook: "callbackUrl",
  webhookurl: "callbackUrl",
  statuscallback: "callbackUrl",
  clientref: "reference",
  clientreference: "reference",
  tags: "metadata",
  scheduledat: "sendAt",
  scheduleat: "sendAt",
  validityperiod: "validitySeconds",
  ttl: "validitySeconds",
};
