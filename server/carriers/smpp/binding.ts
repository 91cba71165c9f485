import type { Socket } from "node:net";

import type { Clock, Secret } from "#platform";

import { encodeBind } from "./codec/body.ts";
import { command } from "./codec/header.ts";
import { status, statusName } from "./codec/status.ts";
import type { Patience } from "./patience.ts";
import type { BindKind, SessionEnd } from "./session-events.ts";
import type { SmppSettings } from "./settings.ts";

type Deps = {
  settings: SmppSettings;
  bind: BindKind;
  password: Secret;
  clock: Clock;
  patience: Patience;
  socket: Socket;
  nextSequence: () => number;
  put: (pdu: Buffer) => void;
  onBound: () => void;
  onEnd: (end: SessionEnd) => void;
};

const commands = {
  transmitter: command.bindTransmitter,
  receiver: command.bindReceiver,
  transceiver: command.bindTransceiver,
};

/** Turns a connection into a bind: connects and then binds, each within its time limit. */
export class Binding {
  readonly #deps: Deps;
  #stage: "connecting" | "binding" | "over" = "connecting";
  #sequence = 0;
  #cancelLimit = () => {};

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#limit(deps.settings.connectTimeoutMs, () => this.#unmade());
  }

  /** Whether the carrier has yet to answer our bind. */
  get isAsked(): boolean {
    return this.#stage === "binding";
  }

  /** Called once connected: sends the bind. */
  ask(): void {
    const { settings, bind, password, nextSequence, put } = this.#deps;
    this.#stage = "binding";
    this.#limit(settings.bindTimeoutMs, () => "the carrier did not answer the bind");
    this.#sequence = nextSequence();
    put(encodeBind(commands[bind], this.#sequence, { ...settings, password: password.reveal() }));
  }

  /** Whether this is the answer to our bind. */
  takeAnswer(sequence: number, code: number): boolean {
    if (!this.isAsked || sequence !== this.#sequence) return false;
    this.end();
    const { bind, onBound, onEnd } = this.#deps;
    if (code === status.ok) onBound();
    else onEnd({ why: "bind_refused", status: code, problem: refusal(code, bind) });
    return true;
  }

  /** A hint for when the two sides have not understood each other yet. */
  portDoubt(): string {
    const { settings, socket } = this.#deps;
    if (settings.tls && this.#stage === "connecting" && !socket.connecting)
      return "; perhaps the port speaks no TLS: check the port and --tls";
    if (!settings.tls && this.isAsked)
      return "; perhaps the port speaks TLS: check the port and --tls";
    return "";
  }

  end(): void {
    this.#stage = "over";
    this.#cancelLimit();
  }

  #unmade(): string {
    const doubt = this.portDoubt();
    return doubt === ""
      ? "the connection could not be made in time"
      : `no TLS connection came about in time${doubt}`;
  }

  #limit(ms: number, problem: () => string): void {
    const { clock, patience, onEnd } = this.#deps;
    const stage = this.#stage;
    this.#cancelLimit();
    this.#cancelLimit = clock.timer(ms, () =>
      patience.thenJudge(() => {
        if (this.#stage === stage) onEnd({ why: "lost", problem: problem() });
      }),
    );
  }
}

function refusal(code: number, bind: BindKind): string {
  return `the carrier refused the bind: ${statusName(code)}${hint(code, bind)}`;
}

function hint(code: number, bind: BindKind): string {
  if (code === status.invalidSystemType) return "; set the one it knows by --system-type";
  // SMPP 3.3 has no transceivers.
  const isUnknown = code === status.invalidCommandId && bind === "transceiver";
  return isUnknown ? "; it may know no transceivers: try --bind pair" : "";
}
