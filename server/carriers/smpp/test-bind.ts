import type { Clock, Secret } from "#platform";

import { status } from "./codec/status.ts";
import { Meter } from "./meter.ts";
import type { BindKind, SessionEnd } from "./session-events.ts";
import { Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";

export type BindTest = {
  /** Also true if the service holds the only bind that the carrier allows. */
  isBound: boolean;
  /** What happened, as a sentence for the person who asked. */
  sentence: string;
};

type Deps = {
  settings: SmppSettings;
  password: Secret;
  clock: Clock;
  /** Whether the service is bound to this carrier now. */
  isHeld: () => Promise<boolean>;
};

/** Connects, binds, sends one enquire_link, and unbinds; no message is sent. */
export async function testBind(deps: Deps): Promise<BindTest> {
  const { bind } = deps.settings;
  if (bind !== "pair") return testOne(deps, bind);
  const transmitter = await testOne(deps, "transmitter");
  if (!transmitter.isBound) return transmitter;
  const receiver = await testOne(deps, "receiver");
  if (!receiver.isBound) return receiver;
  const sentences = new Set([transmitter.sentence, receiver.sentence]);
  return { isBound: true, sentence: [...sentences].join(" ") };
}

async function testOne(deps: Deps, bind: BindKind): Promise<BindTest> {
  const { host, port, systemId } = deps.settings;
  const where = `${host}:${port}`;
  const { connected, answered, ended, session } = openOnce(deps, bind);
  const end = await Promise.race([answered, ended]);
  if (end !== undefined) {
    const code = end.why === "bind_refused" ? end.status : undefined;
    if (code === status.alreadyBound && (await deps.isHeld()))
      return { isBound: true, sentence: `The service holds the only bind that ${where} allows.` };
    const isOutOfReach = !deps.settings.tls && !connected.isReached;
    const hint = code === undefined ? (isOutOfReach ? REACH : undefined) : hints.get(code);
    const which = deps.settings.bind === "pair" ? ` as ${bind}` : "";
    const sentence = [`No bind to ${where}${which}: ${end.problem}.`, hint]
      .filter(Boolean)
      .join(" ");
    return { isBound: false, sentence };
  }
  await session.stop(() => Promise.resolve());
  return { isBound: true, sentence: `Bound to ${where} as ${bind} ${systemId}, and it answers.` };
}

const REACH = "Check host and port, and that the carrier lets your address connect.";
const CREDENTIALS = "Check the system id and the password.";

/** What to do about common refusals. */
const hints = new Map<number, string>([
  [status.invalidPassword, CREDENTIALS],
  [status.invalidSystemId, CREDENTIALS],
  [status.bindFailed, "Ask the carrier whether it allows this type of bind, and your address."],
  [status.alreadyBound, "Another program uses this system id: end it, or ask for more binds."],
]);

function openOnce({ settings, password, clock }: Deps, bind: BindKind) {
  const answered = Promise.withResolvers<undefined>();
  const ended = Promise.withResolvers<SessionEnd>();
  const connected = { isReached: false };
  const session = new Session({
    // Asks at once: this link has no time to become idle.
    settings: { ...settings, enquireLinkMs: 0 },
    bind,
    password,
    clock,
    meter: new Meter(),
    trace: undefined,
    events: {
      onConnected: () => (connected.isReached = true),
      onBound() {},
      onLeaving() {},
      onEnquired: () => answered.resolve(undefined),
      onRoom() {},
      // Nothing stores it here: the carrier is to repeat it on one of the service's binds.
      onDelivery: (delivery, session) => session.respond(delivery, status.temporaryAppError),
      onOdd() {},
      onEnd: (end) => ended.resolve(end),
    },
  });
  return { session, connected, answered: answered.promise, ended: ended.promise };
}
