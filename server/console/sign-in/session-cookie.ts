import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";

const TOKEN_OCTETS = 32;
const MAC_OCTETS = 32;
/** The whole life of a session; the server ends it earlier. */
const MAX_AGE_SECONDS = 7 * 24 * 3600;

export type SessionCookie = {
  /** A new token, and the header that hands it to the browser. */
  issue(): { header: string; tokenHash: Buffer };
  /** What the table knows of the token in a request; undefined where it was not signed here. */
  read(cookies: string | undefined): Buffer | undefined;
  /** The header that takes the cookie away. */
  clear(): string;
};

/**
 * The cookie of a session: a random token, signed. The table holds only the token's hash and the
 * signing key is not in the database, so reading the table is no sign-in, nor is writing to it.
 */
export function sessionCookie({
  key,
  isSecure,
}: {
  key: Buffer;
  isSecure: boolean;
}): SessionCookie {
  // A browser that gets Secure over plain http drops the cookie, and sign-in would seem to fail.
  const name = isSecure ? "__Host-posthorn_session" : "posthorn_session";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  const sign = (token: Buffer) => createHmac("sha256", key).update(token).digest();
  return {
    issue() {
      const token = randomBytes(TOKEN_OCTETS);
      const value = Buffer.concat([token, sign(token)]).toString("base64url");
      return {
        header: `${name}=${value}; ${attributes}; Max-Age=${MAX_AGE_SECONDS}`,
        tokenHash: hashToken(token),
      };
    },
    read(cookies) {
      const value = find(cookies ?? "", name);
      if (value === undefined) return undefined;
      const octets = Buffer.from(value, "base64url");
      if (octets.length !== TOKEN_OCTETS + MAC_OCTETS) return undefined;
      const token = octets.subarray(0, TOKEN_OCTETS);
      if (!timingSafeEqual(octets.subarray(TOKEN_OCTETS), sign(token))) return undefined;
      return hashToken(token);
    },
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  };
}

function find(cookies: string, name: string): string | undefined {
  const pairs = cookies.split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function hashToken(token: Buffer): Buffer {
  return hash("sha256", token, "buffer");
}
