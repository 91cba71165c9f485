/**
 * Preloaded by a service: at each SIGUSR2 its wall clock steps, forwards and back in turn, as by an
 * administrator or a time server. The monotonic clock is unaffected, as on any machine.
 */
const STEPS_MS = [600_000, 0, -600_000, 0];

const TrueDate = Date;
let step = 0;
let offsetMs = 0;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, given: [], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [steppedNow()] : given, newTarget) as Date,
  get: (target, name, receiver) =>
    name === "now" ? steppedNow : (Reflect.get(target, name, receiver) as unknown),
});

function steppedNow(): number {
  return TrueDate.now() + offsetMs;
}

process.on("SIGUSR2", () => {
  offsetMs = STEPS_MS[step % STEPS_MS.length] ?? 0;
  step += 1;
});
