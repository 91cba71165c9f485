import { increase } from "./counts.ts";

/** Slots that several users compete for. */
export type SharedSlots<User> = {
  readonly cap: number;
  taken: number;
  /** Slots per user that has any. */
  readonly by: Map<User, number>;
};

/** While this part of the slots is free, there is no need to share. */
const SPARE = 1 / 4;

export function sharedSlots<User>(cap: number): SharedSlots<User> {
  return { cap, taken: 0, by: new Map() };
}

/** A negative count gives slots back. */
export function takeSlots<User>(shared: SharedSlots<User>, user: User, count: number): void {
  shared.taken += count;
  increase(shared.by, user, count);
}

/** Whether one more slot would give the user its whole share if one more user competed for them. */
export function isBeyondShare<User>({ cap, taken, by }: SharedSlots<User>, user: User): boolean {
  return taken >= cap * (1 - SPARE) && (by.get(user) ?? 0) + 1 >= cap / (by.size + 1);
}
