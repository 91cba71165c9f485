import { headOf, type Headers, wordsOf } from "./answer-head.ts";
import { ChunkedBody } from "./chunked-body.ts";

/** Limits the status line and headers, also the 1xx answers before them and the trailers. */
const MAX_HEADER_OCTETS = 16 * 1024;
/** The most that is read of a body. The rest cannot change the outcome: the connection is ended. */
const MAX_BODY_OCTETS = 64 * 1024;
/** The part of the body that is kept, for people to read. */
const MAX_KEPT_OCTETS = 2 * 1024;

/** The state after some bytes: `cut` is complete as far as we read, but more would come. */
export type Reading = "more" | "complete" | "cut" | "headers_too_large" | { broken: string };

/**
 * Reads one answer, even if it comes byte by byte. Whatever HTTP/1.1 does not allow is broken: a
 * reader that guesses may take part of this answer for the next one. Nothing is decompressed, and
 * nothing grows without bound, whatever comes.
 */
export class Answer {
  status: number | null = null;
  headers: Headers = {};
  readonly kept: Buffer[] = [];
  /** Whether the connection ends with this answer, and for how long it is promised to stay open. */
  isLast = false;
  keepAliveMs = Number.POSITIVE_INFINITY;

  #head: Buffer | null = null;
  #octets = 0;
  #bodyOctets = 0;
  #keptOctets = 0;
  /** Bytes of the body still to come; infinite if only the connection's end marks its end. */
  #left = 0;
  #chunks: ChunkedBody | null = null;

  read(octets: Buffer): Reading {
    this.#octets += octets.length;
    const reading = this.status === null ? this.#readHead(octets) : this.#readBody(octets);
    if (reading !== "more") return reading;
    if (this.status === null)
      return this.#octets > MAX_HEADER_OCTETS ? "headers_too_large" : "more";
    // Catches what no other limit does, such as chunks that are all extension.
    return this.#octets > MAX_HEADER_OCTETS + MAX_BODY_OCTETS ? "cut" : "more";
  }

  /** The receiver has ended its side: complete only if nothing else could have marked the end. */
  readEnd(): "complete" | "lost" {
    return this.status !== null && this.#left === Number.POSITIVE_INFINITY ? "complete" : "lost";
  }

  #readHead(octets: Buffer): Reading {
    const head = this.#head === null ? octets : Buffer.concat([this.#head, octets]);
    // Checked at once: a receiver that speaks another protocol may never send an empty line.
    if (!head.subarray(0, START.length).equals(START.subarray(0, head.length)))
      return { broken: "the answer does not begin with HTTP/1." };
    const end = head.indexOf(END_OF_HEAD);
    if (end > MAX_HEADER_OCTETS) return "headers_too_large";
    // Checked at once too: if lines end without CR, everything was sent, and we would time out.
    if (end === -1 && hasBareLineFeed(head, this.#head?.length ?? 0))
      return { broken: "a line of the head does not end with CR LF" };
    this.#head = head;
    if (end === -1) return "more";
    this.#head = null;
    const fault = this.#take(head.toString("latin1", 0, end));
    if (fault !== undefined) return { broken: fault };
    const rest = head.subarray(end + END_OF_HEAD.length);
    // A 1xx answer means nothing to us; the answer that counts follows it.
    if (this.status === null) return rest.length === 0 ? "more" : this.#readHead(rest);
    return this.#readBody(rest);
  }

  /** Stores the status line and the headers; returns what is wrong with them. */
  #take(text: string): string | undefined {
    const head = headOf(text);
    if (typeof head === "string") return head;
    if (head.status < 200) return undefined;
    this.status = head.status;
    this.headers = head.headers;
    this.isLast = head.isLast;
    this.keepAliveMs = head.keepAliveMs;
    return this.#frame(head.headers);
  }

  /** Decides what marks the end of the body; returns what is wrong about it. */
  #frame({ "content-length": length, "transfer-encoding": coding }: Headers): string | undefined {
    if (this.status === 204 || this.status === 304) return undefined;
    if (coding !== undefined && length !== undefined) return "two headers tell where the body ends";
    if (CHUNKED.test(wordsOf(coding))) {
      this.#chunks = new ChunkedBody(MAX_HEADER_OCTETS);
      return undefined;
    }
    if (length === undefined) {
      this.#left = Number.POSITIVE_INFINITY;
      this.isLast = true;
      return undefined;
    }
    if (typeof length !== "string" || !LENGTH.test(length)) return "the length cannot be read";
    this.#left = Number(length);
    return undefined;
  }

  #readBody(octets: Buffer): Reading {
    if (this.#chunks !== null) {
      const reading = this.#chunks.read(octets, (part) => this.#keep(part));
      if (this.#chunks.hasExcess) this.isLast = true;
      return this.#isFull() && typeof reading === "string" ? "cut" : reading;
    }
    const own = octets.length > this.#left ? octets.subarray(0, this.#left) : octets;
    // Excess bytes belong to nothing, so the connection is not used again.
    if (own.length < octets.length) this.isLast = true;
    this.#left -= own.length;
    this.#keep(own);
    if (this.#isFull()) return "cut";
    return this.#left === 0 ? "complete" : "more";
  }

  #isFull(): boolean {
    return this.#bodyOctets >= MAX_BODY_OCTETS;
  }

  #keep(part: Buffer): void {
    this.#bodyOctets += part.length;
    const wanted = Math.min(part.length, MAX_KEPT_OCTETS - this.#keptOctets);
    if (wanted <= 0) return;
    // A copy: the part is a view into a far larger buffer.
    this.kept.push(Buffer.from(part.subarray(0, wanted)));
    this.#keptOctets += wanted;
  }
}

function hasBareLineFeed(head: Buffer, from: number): boolean {
  for (let at = head.indexOf(LF, from); at !== -1; at = head.indexOf(LF, at + 1))
    if (head[at - 1] !== CR) return true;
  return false;
}

const CR = 0x0d;
const LF = 0x0a;
const START = Buffer.from("HTTP/1.");
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const LENGTH = /^\d{1,15}$/;
/** Only as the last coding; otherwise the connection's end marks the body's end. */
const CHUNKED = /(?:^|[\t ,])chunked$/;
