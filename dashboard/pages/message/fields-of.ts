import type { ConsoleMessage } from "#contract";

/** The fields that make the same message again; omitted ones stay omitted. */
export function fieldsOf({ message }: ConsoleMessage): Record<string, unknown> {
  const { recipient, text: content, sender, callbackUrl, reference, metadata } = message;
  const fields = { recipient, text: content, sender, callbackUrl, reference, metadata };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
