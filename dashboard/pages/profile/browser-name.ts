/** The order matters: most browsers also name the ones they descend from. */
const BROWSERS = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrom(?:e|ium)\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"],
] as const;

const SYSTEMS = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
] as const;

/** "Firefox on Linux", as far as the user agent says. */
export function browserOf(userAgent: string | null): string | undefined {
  if (userAgent === null) return undefined;
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  if (browser === undefined) return system;
  return system === undefined ? browser : `${browser} on ${system}`;
}
