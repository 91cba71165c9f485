/** What of the platform loads nothing else: for threads, each of which loads its own. */
export { type Clock, type LocalMoment, localMoment, systemClock } from "./clock.ts";
export { codeOf, messageOf } from "./error-text.ts";
export { ipv6Groups } from "./ipv6.ts";
export { keepNewest } from "./keep-newest.ts";
export { remembering } from "./remember.ts";
