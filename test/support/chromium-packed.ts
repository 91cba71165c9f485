import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Found } from "./browser.ts";

const HOME = fileURLToPath(new URL("../../node_modules/.cache/chromium-153.0.0", import.meta.url));

/**
 * The Chromium in `@sparticuz/chromium`: Linux x64, also as root, without system packages. Its own
 * `args` are not used, since they switch off web security.
 */
export async function packedChromium(): Promise<Found> {
  if (!existsSync(HOME)) await unpack();
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(HOME, "al2023/lib"),
    FONTCONFIG_FILE: join(HOME, "fonts.conf"),
  };
  return { executablePath: join(HOME, "chromium"), env };
}

/** Unpacks aside, then renames: if two test files do it at once, the first one wins. */
async function unpack(): Promise<void> {
  mkdirSync(dirname(HOME), { recursive: true });
  const aside = mkdtempSync(`${HOME}-`);
  const before = process.env["TMPDIR"];
  // The package unpacks into the temporary folder, and its libraries only on cloud platforms.
  process.env["TMPDIR"] = aside;
  try {
    const { default: box, inflate } = await import("@sparticuz/chromium");
    await box.executablePath();
    const libraries = new URL("../bin/al2023.tar.br", import.meta.resolve("@sparticuz/chromium"));
    await inflate(fileURLToPath(libraries));
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
  writeFileSync(
    join(aside, "fonts.conf"),
    `<fontconfig><dir>${HOME}/fonts</dir><cachedir>${HOME}/fonts-cache</cachedir></fontconfig>`,
  );
  try {
    renameSync(aside, HOME);
  } catch {
    rmSync(aside, { recursive: true });
  }
}
