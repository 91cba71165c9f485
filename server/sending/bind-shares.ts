import type { Clock, Database } from "#platform";
import { type Binds, leaseBinds, shareBinds } from "./bind-leases.ts";
import { FRESH_MS } from "./carrier-run.ts";
import { HEARTBEAT_MS, heartbeat, type NodeInfo } from "./nodes.ts";

type Deps = {
  db: Database;
  clock: Clock;
  node: NodeInfo;
  /** By carrier id; kept up to date by the owner. */
  members: ReadonlyMap<string, { binds: Binds | undefined }>;
  /** Carriers that are stopping: they keep their leased binds until stopped, and get no more. */
  leaving: ReadonlyMap<string, unknown>;
};

/** This node's share of the binds of all carriers, divided among the nodes that are alive. */
export function bindShares({ db, clock, node, members, leaving }: Deps) {
  const { nodeId } = node;
  let nodes: string[] = [nodeId];
  let leasedAtMs = Number.NEGATIVE_INFINITY;
  const isCutOff = () => clock.leaseMs() - leasedAtMs > FRESH_MS;

  return {
    isDue: () => clock.leaseMs() - leasedAtMs >= HEARTBEAT_MS,
    /** Sends the heartbeat and takes or renews this node's share. If it fails, it stays due. */
    async renew(): Promise<void> {
      const heard = await heartbeat(db, node);
      const isJoined = heard.some((id) => !nodes.includes(id));
      // The others may have been cut off too, so give them time before they count as gone.
      nodes = isCutOff() ? [...new Set([...nodes, ...heard])].toSorted() : heard;
      const nowMs = clock.leaseMs();
      for (const [carrierId, { binds }] of members) {
        if (!binds) continue;
        await shareBinds(db, { carrierId, nodeId, nodes }, binds);
        // A node that had hung kept binds that the carrier counted. It has closed them by now.
        if (isJoined) binds.tryAgain();
      }
      for (const carrierId of leaving.keys()) await leaseBinds(db, { carrierId, nodeId }, []);
      leasedAtMs = nowMs;
    },
    /**
     * Without the database no lease is renewed. Other nodes then take these binds, and a carrier
     * that counts them would refuse theirs. A node that is alone keeps them, and so its receipts.
     */
    closeUnleased(): void {
      if (isCutOff() && nodes.length > 1) for (const { binds } of members.values()) binds?.hold(0);
    },
  };
}
