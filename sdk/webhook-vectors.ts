/** For tests: the published signature vectors, with all headers that a delivery carries. */
import { readFileSync } from "node:fs";

export type Vector = {
  name: string;
  /** The one that signs now first, then the previous one while both live. */
  secrets: string[];
  timestamp: number;
  body: string;
  headers: Record<string, string>;
};

type Published = { valid: PublishedVector[]; invalid: PublishedVector[] };
type PublishedVector = Vector & { webhookId: string };

export function readVectors(): { valid: Vector[]; invalid: Vector[] } {
  const file = new URL("../docs/webhook-vectors.json", import.meta.url);
  const { valid, invalid } = JSON.parse(readFileSync(file, "utf8")) as Published;
  return { valid: valid.map(complete), invalid: invalid.map(complete) };
}

/** Id and time are signed by `webhook-signature`, so they go with it. */
function complete({ webhookId, ...vector }: PublishedVector): Vector {
  if (vector.headers["webhook-signature"] === undefined) return vector;
  const time = String(vector.timestamp);
  const headers = { "webhook-id": webhookId, "webhook-timestamp": time, ...vector.headers };
  return Object.assign(vector, { headers });
}
