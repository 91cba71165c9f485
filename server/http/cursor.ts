import { createHmac, timingSafeEqual } from "node:crypto";

const MAC_OCTETS = 12;

type Cursors = {
  make(id: string, boundTo: string): string;
  /** The id that it was made from; undefined if it is damaged or was made for something else. */
  read(cursor: string, boundTo: string): string | undefined;
};

/**
 * Cursors are opaque: they hold an id, sealed to the account and filters they were made with. While
 * the key is being changed, cursors sealed by the previous key can be read too.
 */
export function cursors(key: Buffer, previousKey?: Buffer): Cursors {
  const known = [key, ...(previousKey ? [previousKey] : [])];
  const mac = (id: Buffer, boundTo: string, by = key) =>
    createHmac("sha256", by).update(id).update(boundTo).digest().subarray(0, MAC_OCTETS);
  return {
    make(id, boundTo) {
      const octets = Buffer.from(id.replaceAll("-", ""), "hex");
      return Buffer.concat([octets, mac(octets, boundTo)]).toString("base64url");
    },
    read(cursor, boundTo) {
      const octets = Buffer.from(cursor, "base64url");
      if (octets.length !== 16 + MAC_OCTETS || octets.toString("base64url") !== cursor)
        return undefined;
      const id = octets.subarray(0, 16);
      const sealed = octets.subarray(16);
      if (!known.some((by) => timingSafeEqual(sealed, mac(id, boundTo, by)))) return undefined;
      return id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    },
  };
}
