import { readSmppSettings, simulatorCarrier, smppCarrier, type SmppCarrier } from "#carriers";
import { type Clock, type Log, Secret, type SecretBox } from "#platform";
import type { Binds } from "./bind-leases.ts";
import { openPassword, openSettings } from "./carrier-secrets.ts";
import type { CarrierRow } from "./carriers-table.ts";

type Deps = {
  clock: Clock;
  log: Log;
  secrets: SecretBox;
  receipts: Parameters<typeof simulatorCarrier>[0]["receipts"];
};

/** A carrier as its row describes it; throws where its settings are wrong. */
export function buildCarrier(row: CarrierRow, { clock, log, secrets, receipts }: Deps) {
  const { carrier_id: carrierId, name } = row;
  if (row.kind === "simulator") {
    return {
      carrier: simulatorCarrier({ carrierId, name, clock, log, receipts }),
      binds: undefined,
    };
  }
  const read = readSmppSettings(openSettings(row, secrets));
  if (read.outcome === "wrong") {
    throw new Error(
      `Its settings are wrong: ${read.faults.map(({ setting, message }) => `${setting} ${message}`).join("; ")}.`,
    );
  }
  const { settings } = read;
  const password = new Secret(openPassword(row, secrets));
  const carrier: SmppCarrier = smppCarrier({
    carrierId,
    name,
    settings,
    password,
    clock,
    log,
    receipts,
    share: { binds: 0, rate: 0 },
  });
  const binds: Binds = {
    most: settings.binds,
    hold: (share) =>
      carrier.setShare({
        binds: share,
        rate: settings.rate === 0 ? 0 : (settings.rate * share) / settings.binds,
      }),
    isClosing: () => carrier.isClosing,
  };
  return { carrier, binds };
}
