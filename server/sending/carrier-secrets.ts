import type { SecretBox } from "#platform";

type Settings = Record<string, unknown>;
type Holder = { carrier_id: string; password: Buffer | null; settings: Settings };

/** The settings as they are stored: the private key for TLS is sealed like the password. */
export function sealSettings(carrierId: string, settings: Settings, secrets: SecretBox): Settings {
  const { tls_key: key } = settings;
  if (typeof key !== "string") return settings;
  return { ...settings, tls_key: storedKey(secrets.seal(key, keyContext(carrierId))) };
}

/** The settings as they were given. */
export function openSettings({ carrier_id, settings }: Holder, secrets: SecretBox): Settings {
  const sealed = sealedKey(settings);
  if (sealed === undefined) return settings;
  return { ...settings, tls_key: secrets.open(sealed, keyContext(carrier_id)) };
}

/** The settings after a change: given values replace, null restores the default, the rest stays. */
export function changedSettings(carrier: Holder, given: Settings, secrets: SecretBox): Settings {
  const merged = { ...openSettings(carrier, secrets), ...given };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

/** The settings without their secret. */
export function shownSettings(settings: Settings): Settings {
  const { tls_key: key, ...rest } = settings;
  return key === undefined || key === null ? rest : { ...rest, tls_key: "[secret]" };
}

export function sealPassword(carrierId: string, password: string, secrets: SecretBox): Buffer {
  return secrets.seal(password, passwordContext(carrierId));
}

export function openPassword({ carrier_id, password }: Holder, secrets: SecretBox): string {
  return password === null ? "" : secrets.open(password, passwordContext(carrier_id));
}

/** Reseals what an earlier SECRET_KEY sealed; null if nothing was. */
export function resealed({ carrier_id, password, settings }: Holder, secrets: SecretBox) {
  const key = sealedKey(settings);
  const newPassword = password && secrets.reseal(password, passwordContext(carrier_id));
  const newKey = key === undefined ? null : secrets.reseal(key, keyContext(carrier_id));
  if (newPassword === null && newKey === null) return null;
  const newSettings = newKey ? { ...settings, tls_key: storedKey(newKey) } : settings;
  return { password: newPassword ?? password, settings: newSettings };
}

function storedKey(sealed: Buffer) {
  return { sealed: sealed.toString("base64") };
}

function sealedKey({ tls_key: key }: Settings): Buffer | undefined {
  const isSealed = typeof key === "object" && key !== null && "sealed" in key;
  return isSealed ? Buffer.from(String(key.sealed), "base64") : undefined;
}

function passwordContext(carrierId: string): string {
  return `password of carrier ${carrierId}`;
}

function keyContext(carrierId: string): string {
  return `TLS key of carrier ${carrierId}`;
}
