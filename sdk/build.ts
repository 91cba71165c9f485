/**
 * Writes the SDK as an npm package of plain JavaScript with types, for any Node from 20 on.
 * Run: npx node sdk/build.ts FOLDER, then in your project: npm install FOLDER
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const PACKAGE_NAME = "posthorn-sdk";

export function buildSdk(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const compiler = fileURLToPath(import.meta.resolve("typescript/package.json"));
  const config = fileURLToPath(new URL("tsconfig.build.json", import.meta.url));
  const tsc = join(compiler, "..", "bin", "tsc");
  execFileSync(process.execPath, [tsc, "-p", config, "--outDir", folder], { stdio: "inherit" });
  pointTypesAtJavaScript(folder);
  copyTexts(folder);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
}

/** The compiler rewrites `./x.ts` in the code that runs, but not in the declarations. */
function pointTypesAtJavaScript(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".d.ts"))) {
    const path = join(folder, name);
    writeFileSync(
      path,
      readFileSync(path, "utf8").replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'),
    );
  }
}

const SAMPLES = "../docs/samples/";

const TEXTS = [
  "README.md",
  "../LICENSE",
  "../docs/verify-webhooks.md",
  "../docs/webhook-vectors.json",
  ...readdirSync(new URL(SAMPLES, import.meta.url)).map((name) => `${SAMPLES}${name}`),
];

/** All files are in one folder of the package, so links to other folders must lead to that one. */
function copyTexts(folder: string): void {
  for (const path of TEXTS) {
    const text = readFileSync(new URL(path, import.meta.url), "utf8");
    writeFileSync(join(folder, basename(path)), text.replaceAll(/\]\((\.\.\/)?\w+\//g, "]("));
  }
}

function manifest(): Record<string, unknown> {
  const root = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { version, license } = JSON.parse(root) as { version: string; license: string };
  return {
    name: PACKAGE_NAME,
    version,
    license,
    description: "Posthorn client: send text messages, track their delivery, verify webhooks.",
    type: "module",
    engines: { node: ">=20" },
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
    sideEffects: false,
  };
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("Say where to: npx node sdk/build.ts FOLDER");
  buildSdk(resolve(folder));
  console.error(`The SDK is in ${resolve(folder)}: npm install ${resolve(folder)}`);
}
