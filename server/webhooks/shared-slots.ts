import { increase } from "./counts.ts";

/** Slots that several users compete for. */
export type SharedSlots<User> = {
  readonly cap: number;
  taken: number;
  /** By those that have any. */
  readonly by: Map<User, number>;
};

/** While so many are free there is no need to share. */
const SPARE = 1 / 4;

export function sharedSlots<User>(cap: number): SharedSlots<User> {
  return { cap, taken: 0, by: new Map() };
}

/** Gives slots back where the count is negative. */
export function takeSlots<User>(shared: SharedSlots<User>, user: User, count: number): void {
  shared.taken += count;
  increase(shared.by, user, count);
}

/**
 * Slots that somebody was refused since the last grant, that one included, and those of the refused that
 * had none at all.
 */
export type ScarceSlots = Map<object, Set<object>>;

export function scarceSlots(): ScarceSlots {
  return new Map();
}

export function noteRefused<User extends object>(
  scarce: ScarceSlots,
  shared: SharedSlots<User>,
  user: User,
): void {
  const newcomers = scarce.getOrInsertComputed(shared, () => new Set());
  if (!shared.by.has(user)) newcomers.add(user);
}

/** Whether one more would be more than an equal share beside all the others, newcomers included. */
export function isBeyondShare<User>(
  { cap, taken, by }: SharedSlots<User>,
  user: User,
  newcomers: number,
): boolean {
  return taken >= cap * (1 - SPARE) && (by.get(user) ?? 0) + 1 > cap / (by.size + newcomers);
}
