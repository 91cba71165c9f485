import { readSmppSettings, type SmppSettings } from "#carriers";
import { Secret, type SecretBox } from "#platform";
import { openPassword, openSettings } from "./carrier-secrets.ts";
import type { CarrierRow } from "./carriers-table.ts";

export type OpenedCarrier =
  | { outcome: "opened"; settings: SmppSettings; password: Secret }
  | { outcome: "wrong"; sentence: string };

/** The settings of an SMPP carrier with its secrets opened, or what is wrong with them. */
export function openCarrier(row: CarrierRow, secrets: SecretBox): OpenedCarrier {
  try {
    const read = readSmppSettings(openSettings(row, secrets));
    if (read.outcome === "wrong") {
      const faults = read.faults.map(({ setting, message }) => `${setting} ${message}`);
      return { outcome: "wrong", sentence: `Its settings are wrong: ${faults.join("; ")}.` };
    }
    const password = new Secret(openPassword(row, secrets));
    return { outcome: "opened", settings: read.settings, password };
  } catch {
    const sentence = "Its password or TLS key is damaged, or sealed with another SECRET_KEY.";
    return { outcome: "wrong", sentence };
  }
}
