/**
 * Preloaded by a service: once the given file exists, its monotonic clock is a minute ahead, like
 * that of a process that slept so long.
 */
import { existsSync } from "node:fs";

const trueNow = performance.now.bind(performance);
const file = process.env["LEAP_FILE"] ?? "";

performance.now = () => trueNow() + (existsSync(file) ? 60_000 : 0);
