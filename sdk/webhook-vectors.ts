/** For tests: the published signature vectors, with all headers of a delivery. */
import { readFileSync } from "node:fs";

export type Vector = {
  name: string;
  /** The current secret first, then the previous one while both are valid. */
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

/** `webhook-signature` signs id and time too, so their headers are added. */
function complete({ webhookId, ...vector }: PublishedVector): Vector {
  if (vector.headers["webhook-signature"] === undefined) return vector;
  const time = String(vector.timestamp);
  const headers = { "webhook-id": webhookId, "webhook-timestamp": time, ...vector.headers };
  return Object.assign(vector, { headers });
}
