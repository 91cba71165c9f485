import { type BindTest, testBind } from "#carriers";
import type { Clock, Queryable, SecretBox } from "#platform";
import { isBoundNow } from "./carrier-states.ts";
import type { CarrierRow } from "./carriers-table.ts";
import { openCarrier } from "./open-carrier.ts";

type Deps = { db: Queryable; clock: Clock; secrets: SecretBox };

/** Binds to the carrier once, sends an enquire_link, and unbinds; no message is sent. */
export async function testCarrier(
  row: CarrierRow,
  { db, clock, secrets }: Deps,
): Promise<BindTest> {
  if (row.kind === "simulator")
    return { isBound: true, sentence: "The simulator is always there." };
  const opened = openCarrier(row, secrets);
  if (opened.outcome === "wrong") return { isBound: false, sentence: opened.sentence };
  const { settings, password } = opened;
  return testBind({ settings, password, clock, isHeld: () => isBoundNow(db, row) });
}
