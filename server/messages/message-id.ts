import { newId, readId } from "#platform";

/**
 * A message's id ends in the digit 0, and the id of its nth event ends in the digit n. So an event
 * is found by its id through the message's own index, and needs no index of its own.
 */
export function newMessageId(nowMs: number): string {
  return `${newId(nowMs).slice(0, -1)}0`;
}

export function eventId(messageId: string, sequence: number): string {
  return `${messageId.slice(0, -1)}${sequence.toString(16)}`;
}

/** The message and sequence of an event id; undefined if the text is not such an id. */
export function parseEventId(text: string): { messageId: string; sequence: number } | undefined {
  const id = readId(text);
  const sequence = Number.parseInt(text.slice(-1), 16);
  if (id === undefined || sequence === 0) return undefined;
  return { messageId: `${id.slice(0, -1)}0`, sequence };
}
