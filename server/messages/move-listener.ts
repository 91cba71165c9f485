import type { LocalMoment } from "#platform";
import type { ToldStatus } from "#contract";
import { eventBody, type StatusChange } from "./event-body.ts";
import { hostKeyOf } from "./host-key.ts";
import type { Move } from "./move.ts";

/** A webhook delivery that was inserted with a lease for this node. */
export type BornDelivery = {
  messageId: string;
  sequence: number;
  accountId: string;
  hostKey: bigint;
  status: ToldStatus;
  at: Date;
  url: string;
  body: Buffer;
  /** When it was leased by the database's clock, and when its place was reserved by this node's. */
  leasedAt: Date;
  leasedHere: LocalMoment;
};

/** Learns of moves on this node once they are committed. */
export type MoveListener = {
  moved(moves: readonly Move[]): void;
  /** Undefined if this node delivers no webhooks. */
  webhooks: WebhookIntake | undefined;
};

/** The part of this node's webhook delivery that the writers of webhooks need to know. */
export type WebhookIntake = {
  /** These lanes have new events. */
  wake(hostKeys: readonly bigint[]): void;
  /**
   * Reserves a place in a lane for a webhook that can leave at once. Inserting it with a lease then
   * saves a claim. Returns the time of the reservation; null if the webhook must wait its turn.
   */
  reserve(hostKey: bigint): LocalMoment | null;
  /** These deliveries are stored: deliver them. */
  take(deliveries: readonly BornDelivery[]): void;
  /** Frees places that were reserved in vain. */
  release(hostKeys: readonly bigint[]): void;
};

/** The result of one move in the database. */
export type MovedRow = {
  message_id: string;
  sequence: number;
  is_leased: boolean;
  is_blocked: boolean;
  moved_at: Date;
};

/** The webhook of a move, and when a place for sending it at once was reserved, if one was. */
export type Told = {
  move: Move;
  body: Buffer;
  url: string;
  hostKey: bigint;
  reserved: LocalMoment | null;
} | null;

export function toldOf(move: Move, webhooks: WebhookIntake | undefined): Told {
  const { callbackUrl: url, accountId } = move;
  if (url === null) return null;
  const hostKey = hostKeyOf(accountId, url);
  const reserved = webhooks?.reserve(hostKey) ?? null;
  return { move, body: eventBody(changeOf(move)), url, hostKey, reserved };
}

export function reservedOf(told: readonly Told[]): bigint[] {
  return told.flatMap((each) => (each && each.reserved !== null ? [each.hostKey] : []));
}

/** After the commit: passes on what was inserted with a lease, and wakes the lanes of the rest. */
export function tell(
  webhooks: WebhookIntake,
  told: readonly Told[],
  moved: ReadonlyMap<string, MovedRow>,
): void {
  const born: BornDelivery[] = [];
  const unused: bigint[] = [];
  const woken = new Set<bigint>();
  for (const each of told) {
    if (!each) continue;
    const { move, reserved, body, url, hostKey } = each;
    const row = moved.get(move.messageId);
    if (row?.is_leased && reserved !== null) {
      const { accountId, messageId, to: status, at } = move;
      const leased = { leasedAt: row.moved_at, leasedHere: reserved };
      const event = { messageId, sequence: row.sequence, accountId, status, at, url, body };
      born.push({ ...event, hostKey, ...leased });
      continue;
    }
    if (reserved !== null) unused.push(hostKey);
    // One that waits for an earlier event of its message is found when that one is recorded.
    if (row && !row.is_blocked) woken.add(hostKey);
  }
  if (unused.length > 0) webhooks.release(unused);
  if (born.length > 0) webhooks.take(born);
  if (woken.size > 0) webhooks.wake([...woken]);
}

function changeOf(move: Move): StatusChange {
  const { messageId, recipient, at } = move;
  if (!("error" in move)) return { messageId, recipient, at, status: move.to };
  return { messageId, recipient, at, status: move.to, error: move.error };
}
