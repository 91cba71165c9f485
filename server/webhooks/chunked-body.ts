import type { Reading } from "./answer.ts";

/** A chunk size in hex; an extension after a semicolon is ignored. */
const SIZE = /^([0-9a-f]{1,8})[\t ]*(?:;.*)?\r\n$/i;
const LF = 10;

/** Reads a chunked body as it comes. The caller bounds the total. */
export class ChunkedBody {
  /** Whether bytes came after the end. */
  hasExcess = false;

  readonly #maxTrailerOctets: number;
  #expects: "size" | "data" | "end of data" | "trailer" = "size";
  /** Bytes of the current chunk still to come. */
  #left = 0;
  #line = "";
  #trailerOctets = 0;

  constructor(maxTrailerOctets: number) {
    this.#maxTrailerOctets = maxTrailerOctets;
  }

  read(octets: Buffer, keep: (part: Buffer) => void): Reading {
    let at = 0;
    while (at < octets.length) {
      if (this.#expects === "data") {
        const part = octets.subarray(at, at + this.#left);
        keep(part);
        at += part.length;
        this.#left -= part.length;
        if (this.#left === 0) this.#expects = "end of data";
        continue;
      }
      const lineEnd = octets.indexOf(LF, at);
      const next = lineEnd === -1 ? octets.length : lineEnd + 1;
      this.#line += octets.toString("latin1", at, next);
      if (this.#expects === "trailer") this.#trailerOctets += next - at;
      at = next;
      if (this.#trailerOctets > this.#maxTrailerOctets) return "headers_too_large";
      if (lineEnd === -1) return "more";
      const reading = this.#take(this.#line);
      this.#line = "";
      this.hasExcess = reading === "complete" && at < octets.length;
      if (reading !== "more") return reading;
    }
    return "more";
  }

  #take(line: string): Reading {
    const isEmpty = line === "\r\n";
    switch (this.#expects) {
      case "size": {
        const [, digits] = SIZE.exec(line) ?? [];
        if (digits === undefined) return { broken: "the size of a chunk cannot be read" };
        this.#left = Number.parseInt(digits, 16);
        this.#expects = this.#left === 0 ? "trailer" : "data";
        return "more";
      }
      case "end of data":
        this.#expects = "size";
        return isEmpty ? "more" : { broken: "a chunk is longer than its size" };
      case "trailer":
        return isEmpty ? "complete" : "more";
      case "data":
        return "more";
    }
  }
}
