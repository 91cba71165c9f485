/**
 * An SMSC in its own process, for benchmarks: accepts at once and sends each receipt at once. With
 * `--tell` it reports when each submit came, in wall time.
 */
import { startSmsc } from "#carriers";

const tells = process.argv.includes("--tell");

const smsc = await startSmsc({
  answer: ({ recipient }) => {
    if (tells)
      process.send?.({ recipient, at: performance.timeOrigin + performance.now() } satisfies Seen);
    return "accept";
  },
  receipts: { when: "after", delayMs: 0 },
});
process.send?.(smsc.port);
process.once("SIGTERM", () => void smsc.stop().then(() => process.exit(0)));
process.once("disconnect", () => process.exit(0));

export type Seen = { recipient: string; at: number };
