/** DEL and C1 controls steer terminals; the others reverse the text that follows. */
const STEERING = /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g;

/** JSON leaves these as they are. Escaped, they mean the same and do nothing to a terminal. */
export function tameJson(json: string): string {
  return json.replaceAll(
    STEERING,
    (sign) => String.raw`\u` + sign.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}
