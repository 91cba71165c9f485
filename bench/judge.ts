/**
 * The cost of judging a recipient and counting segments, in nanoseconds a call. Both are on the
 * path of every accepted message; together they should stay below a tenth of a request.
 * Run: node bench/judge.ts
 */
import { countSegments } from "#contract/segments";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { judgeRecipient } from "../server/messages/recipient.ts";

const CALLS = 200_000;

/** Distinct strings, made as JSON makes them: a repeated literal would flatter the cache. */
function numbers(prefix: string): string[] {
  return Array.from({ length: 1000 }, (_, n) => JSON.parse(`"${prefix}${1000 + n}"`) as string);
}

function nanosecondsEach<T>(inputs: T[], run: (input: T) => unknown): number {
  const pass = (calls: number) => {
    for (let call = 0; call < calls; call += 1) run(inputs[call % inputs.length] as T);
  };
  pass(CALLS / 10);
  const start = process.hrtime.bigint();
  pass(CALLS);
  return Number(process.hrtime.bigint() - start) / CALLS;
}

function library(number: string): boolean {
  return parsePhoneNumberFromString(`+${number}`)?.isValid() ?? false;
}

for (const [country, prefix] of Object.entries({
  DE: "491511234",
  US: "1415555",
  CA: "1416555",
  GB: "44791112",
  JM: "1876555",
})) {
  const ours = nanosecondsEach(numbers(prefix), judgeRecipient);
  const theirs = nanosecondsEach(numbers(prefix), library);
  const ratio = (theirs / ours).toFixed(0);
  console.log(
    `recipient ${country}: ${ours.toFixed(0)} ns, libphonenumber-js ${theirs.toFixed(0)} ns, ${ratio} times`,
  );
}

const sentence = "Your verification code is 123456. It expires in ten minutes. ";
for (const [name, text] of Object.entries({
  "one-time code": sentence,
  "160 characters": sentence.repeat(3).slice(0, 160),
  "10 segments": sentence.repeat(25),
  "with a euro sign": `${sentence}€`,
  Cyrillic: "Ваш код подтверждения 123456. Он действует десять минут.",
})) {
  const texts = Array.from({ length: 100 }, () => JSON.parse(JSON.stringify(text)) as string);
  const each = nanosecondsEach(texts, (input) => countSegments(input));
  console.log(`segments of ${name}: ${each.toFixed(0)} ns`);
}
