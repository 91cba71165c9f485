import { setFlagsFromString } from "node:v8";

/**
 * V8 allocates an object straight into the old generation where earlier ones of the same code lived long.
 * For what holds a batch together that is wrong: dead, it stays until the next full collection, and so do
 * all requests that it refers to. Under load, collections of the young generation took several times as long.
 */
export function keepYoungObjectsYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
