import { type ReceiptSink, simulatorCarrier, smppCarrier } from "#carriers";
import type { Clock, Log, SecretBox } from "#platform";
import type { Binds } from "./bind-leases.ts";
import type { CarrierRow } from "./carriers-table.ts";
import { openCarrier } from "./open-carrier.ts";

type Deps = {
  clock: Clock;
  log: Log;
  secrets: SecretBox;
  receipts: ReceiptSink;
};

/** Builds the carrier that a row describes; throws if its settings are wrong. */
export function buildCarrier(row: CarrierRow, { clock, log, secrets, receipts }: Deps) {
  const { carrier_id: carrierId, name } = row;
  if (row.kind === "simulator") {
    return {
      carrier: simulatorCarrier({ carrierId, name, clock, log, receipts }),
      binds: undefined,
    };
  }
  const opened = openCarrier(row, secrets);
  if (opened.outcome === "wrong") throw new Error(opened.sentence);
  const { settings, password } = opened;
  const carrier = smppCarrier({
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
    tryAgain: () => carrier.tryAgain(),
    isClosing: () => carrier.isClosing,
  };
  return { carrier, binds };
}
