/** An SMSC in a process of its own, for benchmarks: accepts at once and sends each receipt at once. */
import { startSmsc } from "#carriers";

const smsc = await startSmsc({ answer: "accept", receipts: { when: "after", delayMs: 0 } });
process.send?.(smsc.port);
process.once("SIGTERM", () => void smsc.stop().then(() => process.exit(0)));
