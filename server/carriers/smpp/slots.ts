import type { LinkState } from "#carriers";

import type { Link } from "./link.ts";
import type { BindKind } from "./session-events.ts";
import type { Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";

/** The binds that make up one slot. */
const slotBinds: Record<SmppSettings["bind"], BindKind[]> = {
  transceiver: ["transceiver"],
  pair: ["transmitter", "receiver"],
  transmitter: ["transmitter"],
  receiver: ["receiver"],
};

type Deps = {
  bind: SmppSettings["bind"];
  newLink: (bind: BindKind) => Link;
  /** Resolves when the receipts in hand are answered; a link waits for this before it unbinds. */
  settled: () => Promise<void>;
};

/** The links of a carrier in this process: as many slots as its share allows. */
export class Slots {
  readonly #deps: Deps;
  /** Links that are ending; each promise resolves when its link has ended. */
  readonly #stopping = new Map<Link, Promise<void>>();
  #slots: Link[][] = [];
  #links: Link[] = [];
  #turn = 0;
  #isPaused = false;
  /** The reconnects of links that are gone. */
  #formerReconnects = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Adds slots or ends some in good order, unbound ones first: their bind may take long. */
  resize(wanted: number): void {
    while (this.#slots.length > wanted) {
      // If all are bound this is -1, the last slot.
      const unbound = this.#slots.findLastIndex((slot) => slot.some(({ isBound }) => !isBound));
      for (const link of this.#slots.splice(unbound, 1).flat()) this.#retire(link);
    }
    const added: Link[] = [];
    while (this.#slots.length < wanted) {
      const slot = slotBinds[this.#deps.bind].map((bind) => this.#deps.newLink(bind));
      this.#slots.push(slot);
      added.push(...slot);
    }
    this.#links = this.#slots.flat();
    for (const link of added) {
      if (this.#isPaused) link.pause();
      link.start();
    }
  }

  /** Retries links that were refused because other nodes hold the carrier's binds. */
  tryAgain(): void {
    for (const link of this.#links) link.tryAgain();
  }

  /** Resolves when every ending link has ended. */
  async stopped(): Promise<void> {
    await Promise.all(this.#stopping.values());
  }

  /** Whether a link is still ending. */
  get isClosing(): boolean {
    return this.#stopping.size > 0;
  }

  get bound(): number {
    return this.#links.reduce((sum, link) => sum + (link.isBound ? 1 : 0), 0);
  }

  /** Whether a bound link does what the carrier is for. */
  get isUp(): boolean {
    return this.#deps.bind === "receiver" ? this.bound > 0 : this.canSubmit;
  }

  /** Whether a bound link can send messages. */
  get canSubmit(): boolean {
    return this.#links.some((link) => link.isBound && link.bind !== "receiver");
  }

  get size(): number {
    return this.#links.length;
  }

  get reconnects(): number {
    return this.#links.reduce((sum, link) => sum + link.reconnects, this.#formerReconnects);
  }

  /** Free window over all links. */
  get room(): number {
    let room = 0;
    for (const link of this.#links) room += link.room;
    return room;
  }

  /** The session of the link with the most room; equal links take turns. */
  freest(): Session | null {
    let best: Link | undefined;
    this.#turn += 1;
    for (let step = 0; step < this.#links.length; step += 1) {
      const link = this.#links[(this.#turn + step) % this.#links.length];
      if (link !== undefined && link.room > (best?.room ?? 0)) best = link;
    }
    return best?.session ?? null;
  }

  pause(): void {
    this.#isPaused = true;
    for (const link of this.#reading()) link.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const link of this.#reading()) link.resume();
  }

  linkOf(session: Session): Link | undefined {
    return this.#links.find((link) => link.session === session);
  }

  states(isThrottled: boolean): LinkState[] {
    return this.#links.map((link) => link.state(isThrottled));
  }

  #retire(link: Link): void {
    this.#formerReconnects += link.reconnects;
    const stopping = link.stop(this.#deps.settled);
    this.#stopping.set(link, stopping);
    void stopping.finally(() => this.#stopping.delete(link));
  }

  /** An ending link still reads its last answers, and the receipts before them. */
  #reading(): Link[] {
    return [...this.#links, ...this.#stopping.keys()];
  }
}
