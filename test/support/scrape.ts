import type { TestApi } from "./api.ts";

type Sample = { name: string; labels: Record<string, string>; value: number };

export type Scrape = {
  /** The value of the sample with this name and at least these labels; undefined if none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
  /** Every name that is defined, even if it has no value yet. */
  names: Set<string>;
  samples: Sample[];
};

export async function scrape({ inject }: Pick<TestApi, "inject">): Promise<Scrape> {
  return readScrape((await inject({ method: "GET", url: "/metrics" })).body);
}

const SAMPLE = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i;

/** Parses the text that Prometheus reads. */
export function readScrape(text: string): Scrape {
  const samples = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return {
        name,
        labels: Object.fromEntries(pairs.map(([, key = "", word = ""]) => [key, word])),
        value: Number(value),
      };
    });
  return {
    samples,
    names: new Set([...text.matchAll(/^# HELP (\w+)/gm)].map(([, name = ""]) => name)),
    value: (name, wanted = {}) =>
      samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(wanted).every(([key, word]) => sample.labels[key] === word),
      )?.value,
  };
}
