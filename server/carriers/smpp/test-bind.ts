import type { Clock, Secret } from "#platform";

import { Meter } from "./meter.ts";
import type { BindKind, SessionEnd } from "./session-events.ts";
import { Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";

export type BindTest = {
  isBound: boolean;
  /** What happened, as a sentence for whoever asked. */
  sentence: string;
};

type Deps = { settings: SmppSettings; password: Secret; clock: Clock };

/** Connects, binds, asks once whether anyone is there, and unbinds; no message is sent. */
export async function testBind(deps: Deps): Promise<BindTest> {
  const { bind } = deps.settings;
  if (bind !== "pair") return testOne(deps, bind);
  const transmitter = await testOne(deps, "transmitter");
  return transmitter.isBound ? testOne(deps, "receiver") : transmitter;
}

async function testOne({ settings, password, clock }: Deps, bind: BindKind): Promise<BindTest> {
  const { host, port, systemId } = settings;
  const where = `${host}:${port}`;
  const { answered, ended, session } = openOnce({ settings, password, clock }, bind);
  const end = await Promise.race([answered, ended]);
  if (end !== undefined)
    return { isBound: false, sentence: `No bind to ${where}: ${end.problem}.` };
  await session.stop(() => Promise.resolve());
  return { isBound: true, sentence: `Bound to ${where} as ${bind} ${systemId}, and it answers.` };
}

function openOnce({ settings, password, clock }: Deps, bind: BindKind) {
  const answered = Promise.withResolvers<undefined>();
  const ended = Promise.withResolvers<SessionEnd>();
  const session = new Session({
    // At once, and not when the link has been idle: this link has no time to be.
    settings: { ...settings, enquireLinkMs: 0 },
    bind,
    password,
    clock,
    meter: new Meter(),
    trace: undefined,
    events: {
      onConnected() {},
      onBound() {},
      onLeaving() {},
      onEnquired: () => answered.resolve(undefined),
      onRoom() {},
      onDelivery() {},
      onOdd() {},
      onEnd: (end) => ended.resolve(end),
    },
  });
  return { session, answered: answered.promise, ended: ended.promise };
}
