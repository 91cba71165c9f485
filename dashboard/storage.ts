/** For this tab only, or for this browser. */
type Place = "sessionStorage" | "localStorage";

/** Storage may be off or full. Then nothing is kept, and pages work without it. */
function tryOn<Result>(place: Place, act: (storage: Storage) => Result): Result | undefined {
  try {
    // Inside `try`: if storage is off, merely accessing it throws.
    return act(globalThis[place]);
  } catch {
    return undefined;
  }
}

export function readKept(place: Place, name: string): string | undefined {
  return tryOn(place, (storage) => storage.getItem(name)) ?? undefined;
}

export function keep(place: Place, name: string, value: string): void {
  tryOn(place, (storage) => storage.setItem(name, value));
}

export function forget(place: Place, name: string): void {
  tryOn(place, (storage) => storage.removeItem(name));
}

export function listKept(place: Place): string[] {
  return tryOn(place, (storage) => Object.keys(storage)) ?? [];
}
