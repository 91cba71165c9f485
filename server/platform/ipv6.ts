/** The eight groups of a valid IPv6 address, in any spelling. */
export function ipv6Groups(ip: string): number[] {
  const [head = "", tail] = withoutDots(ip).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

/** Turns `::ffff:1.2.3.4` into `::ffff:102:304`. */
function withoutDots(ip: string): string {
  return ip.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, a: string, b: string, c: string, d: string) => {
      return `${hexGroup(a, b)}:${hexGroup(c, d)}`;
    },
  );
}

function hexGroup(high: string, low: string): string {
  return ((Number(high) << 8) | Number(low)).toString(16);
}
