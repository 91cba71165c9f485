/**
 * `node bin/with-node.mjs FILE ARGUMENT…` runs a file on the Node that Posthorn is made for,
 * whichever Node this is. Plain JavaScript for any Node from 20 on.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findPinnedNode, isRightNode, tellWhatIsMissing } from "./pinned-node.mjs";

const LINK = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));

const pinned = findPinnedNode();
if (pinned.path !== undefined) linkIt(pinned.path);
process.argv.splice(1, 1);
if (isRightNode(pinned)) {
  await import(pathToFileURL(resolve(process.argv[1])).href);
} else if (pinned.path !== undefined) {
  const { status } = spawnSync(pinned.path, process.argv.slice(1), { stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  tellWhatIsMissing(pinned);
}

/**
 * npm before 11 links it, then removes the link together with other machines' packages, which have
 * a binary of the same name. Units, images and all other scripts take Node from this link.
 * @param {string} node
 */
function linkIt(node) {
  if (process.platform === "win32" || existsSync(LINK)) return;
  mkdirSync(dirname(LINK), { recursive: true });
  symlinkSync(relative(dirname(LINK), node), LINK);
}
