import type { LinkState } from "#carriers";
import type { Clock, Log, Secret } from "#platform";

import { backoffMs } from "./backoff.ts";
import { classifyBind, status, statusName } from "./codec/status.ts";
import { connectionProblem } from "./connection-problem.ts";
import { Denials } from "./denials.ts";
import { Meter } from "./meter.ts";
import { pduLog, type Trace } from "./pdu-log.ts";
import type { BindKind, Delivery, SessionEnd } from "./session-events.ts";
import { Session } from "./session.ts";
import type { Span } from "./setting-values.ts";
import type { SmppSettings } from "./settings.ts";

export type LinkEvents = {
  onRoom(): void;
  onDelivery(delivery: Delivery, session: Session, meter: Meter): void;
  /** The link lost a bind, or its bind no longer takes messages. */
  onLost(): void;
};

type Deps = {
  carrier: string;
  settings: SmppSettings;
  bind: BindKind;
  password: Secret;
  clock: Clock;
  log: Log;
  random: () => number;
  meter: Meter;
  events: LinkEvents;
};

/** A bind that took a message or lasted this long was good: the waits start small again. */
const STABLE_MS = 10_000;

const BIND_DENIED = `the carrier denies the bind: ${statusName(status.invalidBindStatus)}`;

/** Odd PDUs are logged at most once in this time, with their count. */
const ODD_LOG_MS = 10_000;

/** One bind slot: connects, waits after a failure, and replaces a session that ended. */
export class Link {
  readonly #deps: Deps;
  readonly #meter: Meter;
  readonly #trace: Trace | undefined;
  readonly #denials: Denials;
  #session: Session | null = null;
  #state: LinkState["state"] = "starting";
  #since: Date;
  #problem: string | null = null;
  #enquireLinkAt: Date | null = null;
  /** Consecutive failures of the same kind, and the range of waits after them. */
  #failures = 0;
  #span: Span | null = null;
  #boundAtMs: number | null = null;
  #reconnects = 0;
  #isStopped = false;
  #isPaused = false;
  #odd = 0;
  #oddLoggedAtMs = Number.NEGATIVE_INFINITY;
  #cancelWait = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#meter = new Meter(deps.meter);
    this.#trace = pduLog(deps.settings.pduLog, deps);
    this.#denials = new Denials(deps.clock);
    this.#since = deps.clock.now();
  }

  get bind(): BindKind {
    return this.#deps.bind;
  }

  /** A bind that only waits for its last answers no longer counts. */
  get isBound(): boolean {
    return this.#state === "bound" && this.#session?.isLeaving === false;
  }

  get room(): number {
    return this.#session?.room ?? 0;
  }

  get inFlight(): number {
    return this.#session?.inFlight ?? 0;
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  /** Use it only if there is `room`. */
  get session(): Session | null {
    return this.#session;
  }

  start(): void {
    this.#open();
  }

  pause(): void {
    this.#isPaused = true;
    this.#session?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#session?.resume();
  }

  /** `settled` resolves when the receipts in hand are answered. */
  async stop(settled: () => Promise<void>): Promise<void> {
    this.#isStopped = true;
    this.#cancelWait();
    await this.#session?.stop(settled);
    this.#enter("stopped", null);
  }

  /** Other nodes may have closed a bind: ends a wait for the carrier to have room for one more. */
  tryAgain(): void {
    const isRefused = this.#span === this.#deps.settings.reconnectAlreadyBound;
    if (this.#state !== "connection_lost" || !isRefused) return;
    this.#cancelWait();
    this.#failures = 0;
    this.#reopen();
  }

  accepted(): void {
    this.#denials.accepted();
  }

  /** The carrier says it knows no bind of ours: if believed, it ends in good order and rebinds. */
  denied(settled: () => Promise<void>): void {
    if (this.#session === null || this.#session.isLeaving || !this.#denials.denied()) return;
    void this.#session.stop(settled, BIND_DENIED);
    this.#onLeaving(BIND_DENIED);
  }

  state(isThrottled: boolean): LinkState {
    const { bind, clock } = this.#deps;
    const shown = this.#state === "bound" && isThrottled ? "throttled" : this.#state;
    return {
      bind,
      state: shown,
      since: this.#since,
      windowInUse: this.inFlight,
      ...this.#meter.read(clock.monotonicMs()),
      enquireLinkAt: this.#enquireLinkAt,
      problem: this.#problem,
    };
  }

  #open(): void {
    try {
      this.#session = this.#newSession();
    } catch (error) {
      // An unreadable certificate fails before there is a connection.
      this.#onEnd({ why: "lost", problem: connectionProblem(error) });
    }
  }

  #newSession(): Session {
    const { settings, bind, password, clock, events } = this.#deps;
    return new Session({
      settings,
      bind,
      password,
      clock,
      meter: this.#meter,
      trace: this.#trace,
      events: {
        onConnected: () => this.#enter("binding", this.#problem),
        onBound: () => this.#onBound(),
        onLeaving: (problem) => this.#onLeaving(problem),
        onEnquired: () => {
          this.#enquireLinkAt = clock.now();
        },
        onRoom: () => events.onRoom(),
        onDelivery: (delivery, session) => events.onDelivery(delivery, session, this.#meter),
        onOdd: (what) => this.#onOdd(what),
        onEnd: (end) => this.#onEnd(end),
      },
    });
  }

  #onBound(): void {
    const { bind, carrier, clock, events, log } = this.#deps;
    this.#boundAtMs = clock.monotonicMs();
    this.#denials.bound();
    this.#enter("bound", null);
    if (this.#isPaused) this.#session?.pause();
    log.info({ carrier, bind }, `bound to ${carrier} as ${bind}`);
    events.onRoom();
  }

  #onLeaving(problem: string): void {
    this.#problem = problem;
    this.#deps.events.onLost();
  }

  /** Limited, because a peer that sends nothing else must not fill the disk. */
  #onOdd(what: string): void {
    const { bind, carrier, clock, log } = this.#deps;
    this.#odd += 1;
    if (clock.monotonicMs() < this.#oddLoggedAtMs + ODD_LOG_MS) return;
    log.warn({ carrier, bind, count: this.#odd }, `${carrier} sent something odd: ${what}`);
    this.#oddLoggedAtMs = clock.monotonicMs();
    this.#odd = 0;
  }

  #onEnd(end: SessionEnd): void {
    const { events } = this.#deps;
    const wasBound = this.#boundAtMs !== null;
    this.#session = null;
    if (this.#wasGood()) this.#failures = 0;
    this.#boundAtMs = null;
    if (wasBound && !this.#isStopped) this.#reconnects += 1;
    if (!this.#isStopped) this.#waitAfter(end);
    if (wasBound) events.onLost();
  }

  #wasGood(): boolean {
    if (this.#boundAtMs === null) return false;
    return (
      this.#denials.hasAccepted || this.#deps.clock.monotonicMs() - this.#boundAtMs >= STABLE_MS
    );
  }

  #waitAfter(end: SessionEnd): void {
    const { bind, carrier, clock, log, random } = this.#deps;
    const span = this.#spanAfter(end);
    // Failures of another kind say nothing about this one.
    if (span !== this.#span) this.#failures = 0;
    this.#span = span;
    const waitMs = backoffMs(span, this.#failures, random);
    const isRefused = end.why === "bind_refused" && classifyBind(end.status) === "credentials";
    this.#failures += 1;
    this.#enter(isRefused ? "refused" : "connection_lost", end.problem);
    const fields = { carrier, bind, problem: end.problem, waitMs: Math.round(waitMs) };
    // Wrong credentials need a person; everything else fixes itself.
    log[isRefused ? "error" : "warn"](fields, `no bind to ${carrier}: ${end.problem}`);
    this.#cancelWait = clock.timer(waitMs, () => this.#reopen());
  }

  #reopen(): void {
    this.#enter("starting", this.#problem);
    this.#open();
  }

  #spanAfter(end: SessionEnd): Span {
    const { settings } = this.#deps;
    if (end.why !== "bind_refused") return settings.reconnect;
    switch (classifyBind(end.status)) {
      case "already_bound":
        return settings.reconnectAlreadyBound;
      case "credentials":
        return settings.reconnectRefused;
      case "other":
        return settings.reconnect;
    }
  }

  /** Without a bind, `since` stays at the loss of the last one, however often it was retried. */
  #enter(state: LinkState["state"], problem: string | null): void {
    const isTurn = (state === "bound") !== (this.#state === "bound") || state === "stopped";
    if (isTurn) this.#since = this.#deps.clock.now();
    this.#state = state;
    this.#problem = problem;
  }
}
