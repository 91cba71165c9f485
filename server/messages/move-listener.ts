import type { LocalMoment } from "#platform";
import type { ToldStatus } from "#contract";
import { eventBody, type StatusChange } from "./event-body.ts";
import { hostKeyOf } from "./host-key.ts";
import type { Move } from "./move.ts";

/** A webhook that was leased to this node when it was written. */
export type BornDelivery = {
  messageId: string;
  sequence: number;
  accountId: string;
  hostKey: bigint;
  status: ToldStatus;
  at: Date;
  url: string;
  body: Buffer;
  /** By the database's clock, and when a place was kept for it by this node's. */
  leasedAt: Date;
  leasedHere: LocalMoment;
};

/** Who hears of moves on this node, once they are committed. */
export type MoveListener = {
  moved(moves: readonly Move[]): void;
  /** Undefined where this node delivers no webhooks. */
  webhooks: WebhookIntake | undefined;
};

/** Who delivers webhooks on this node, as far as those who write them know it. */
export type WebhookIntake = {
  /** There are new events for these lanes. */
  wake(hostKeys: readonly bigint[]): void;
  /**
   * Keeps a place in a lane for a webhook that can leave at once; it is leased at birth, which spares
   * a claim. Answers the moment; null where it must wait its turn.
   */
  reserve(hostKey: bigint): LocalMoment | null;
  /** These are stored: deliver them. */
  take(deliveries: readonly BornDelivery[]): void;
  /** Places that were kept for nothing. */
  release(hostKeys: readonly bigint[]): void;
};

/** What became of one move in the database. */
export type MovedRow = {
  message_id: string;
  sequence: number;
  is_leased: boolean;
  is_blocked: boolean;
  moved_at: Date;
};

/** What is told of a move, and since when a place is kept for telling it at once. */
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

/** After the commit: what was born leased is handed over, and of the rest its lanes are named. */
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
    // One that waits for another of its message is found when that one is recorded.
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
