import { type Database, type SecretBox, systemClock } from "#platform";
import { addCarrier } from "#sending";

type CarrierWish = {
  name?: string;
  /** Settings besides host, port and system id. */
  settings?: Record<string, unknown>;
  password?: string;
  secrets: SecretBox;
};

/** Adds an SMPP carrier on a local port where nothing need listen; returns its id. */
export async function makeCarrier(db: Database, wish: CarrierWish): Promise<string> {
  const { name = "c1", password = "secret", secrets } = wish;
  const settings = { host: "127.0.0.1", port: 1, system_id: "test", ...wish.settings };
  const by = { actor: "test", now: systemClock.now() };
  const added = await addCarrier(db, { name, settings, password, secrets, ...by });
  if (added.outcome !== "added") throw new Error(`No carrier was added: ${added.outcome}`);
  return added.carrierId;
}
