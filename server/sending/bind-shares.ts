import type { Clock, Database } from "#platform";
import { type Binds, leaseBinds, shareBinds } from "./bind-leases.ts";
import { FRESH_MS } from "./carrier-run.ts";
import { HEARTBEAT_MS, heartbeat, type NodeInfo } from "./nodes.ts";

type Deps = {
  db: Database;
  clock: Clock;
  node: NodeInfo;
  /** By carrier, as they are at the moment. */
  members: ReadonlyMap<string, { binds: Binds | undefined }>;
  /** Carriers that are to go: what they hold is kept until they are gone, and nothing is added. */
  leaving: ReadonlyMap<string, unknown>;
};

/** This node's part of the binds of all carriers, by the nodes that are heard. */
export function bindShares({ db, clock, node, members, leaving }: Deps) {
  const { nodeId } = node;
  let nodes: string[] = [nodeId];
  let leasedAtMs = Number.NEGATIVE_INFINITY;
  const isCutOff = () => clock.leaseMs() - leasedAtMs > FRESH_MS;

  return {
    isDue: () => clock.leaseMs() - leasedAtMs >= HEARTBEAT_MS,
    /** Lets the others hear of this node, and takes or renews its share; what failed stays due. */
    async renew(): Promise<void> {
      const heard = await heartbeat(db, node);
      const isJoined = heard.some((id) => !nodes.includes(id));
      // Where the others were cut off as well, they get the time to be heard before they count as gone.
      nodes = isCutOff() ? [...new Set([...nodes, ...heard])].toSorted() : heard;
      const nowMs = clock.leaseMs();
      for (const [carrierId, { binds }] of members) {
        if (!binds) continue;
        await shareBinds(db, { carrierId, nodeId, nodes }, binds);
        // One that hung still had its binds, which the carrier counted; it has closed them on its return.
        if (isJoined) binds.tryAgain();
      }
      for (const carrierId of leaving.keys()) await leaseBinds(db, { carrierId, nodeId }, []);
      leasedAtMs = nowMs;
    },
    /**
     * Without the database no lease is renewed, and the others are about to take these binds: a carrier that
     * still counted them would refuse theirs. A node that is alone keeps them, and with them its receipts.
     */
    closeUnleased(): void {
      if (isCutOff() && nodes.length > 1) for (const { binds } of members.values()) binds?.hold(0);
    },
  };
}
