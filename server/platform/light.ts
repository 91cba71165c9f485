/** The parts of the platform that import nothing heavy: for threads, which each load their own. */
export { type Clock, type LocalMoment, localMoment, systemClock } from "./clock.ts";
export { codeOf, messageOf } from "./error-text.ts";
export { ipv6Groups } from "./ipv6.ts";
export { keepNewest } from "./keep-newest.ts";
export { remembering } from "./remember.ts";
