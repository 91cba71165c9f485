import type { Random } from "./random.ts";
import { NEVER_AGAIN_PREFIX } from "./world.ts";

/**
 * Endings with special treatment by the SMSC: undelivered, refused, no receipt, receipt first,
 * rejected. Not the throttled one: it slows the carrier for everybody, which is a fault of its own.
 */
const SPECIAL = ["0001", "0002", "0004", "0006", "0007"] as const;
const ORDINARY_ENDINGS = 9_000;

/** Eight digits follow each. */
const LEADS = ["49151", "49152", "49157", "49159"] as const;
const BLOCKS = 10_000;

/** German mobile numbers, each used once: whatever the SMSC receives identifies its message. */
export function recipients(random: Random): { next(): string } {
  const counts = new Map<string, number>();
  return {
    next() {
      const isSpecial = random.isLikely(0.2);
      const isNeverAgain = random.isLikely(0.25);
      const count = (counts.get(`${isSpecial} ${isNeverAgain}`) ?? 0) + 1;
      counts.set(`${isSpecial} ${isNeverAgain}`, count);
      const ending = isSpecial
        ? random.pick(SPECIAL)
        : String(1_000 + (count % ORDINARY_ENDINGS)).padStart(4, "0");
      const block = isSpecial ? count : Math.floor(count / ORDINARY_ENDINGS);
      const lead = isNeverAgain ? NEVER_AGAIN_PREFIX : LEADS[Math.floor(block / BLOCKS)];
      return `${lead}${String(block % BLOCKS).padStart(4, "0")}${ending}`;
    },
  };
}

/** Usually one segment; some texts are long, some Unicode. */
export function textFor(reference: string, random: Random): string {
  const chance = random.next();
  if (chance < 0.85) return `Storm ${reference}`;
  const words = chance < 0.95 ? "heavy weather " : "Gewitter ⚡ über München ";
  return `${reference} ${words.repeat(random.between(8, 22))}`.trim();
}
