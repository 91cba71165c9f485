import type { OperatorStreamEvent } from "#contract";
import { measureQueue } from "#messages";
import type { Database } from "#platform";
import { listCarriers, listNodes, readCarrierStates } from "#sending";
import { measureBacklog } from "#webhooks";

/** Each call returns which of the operator's pages have changed since the call before. */
export function operatorNews(db: Database): () => Promise<OperatorStreamEvent[]> {
  const seen = new Map<"carriers" | "queue" | "nodes", string>();
  return async () => {
    const carriers = await listCarriers(db);
    const [states, queue, backlog, nodes] = await Promise.all([
      readCarrierStates(db, carriers),
      measureQueue(db),
      measureBacklog(db),
      listNodes(db),
    ]);
    const shown = {
      carriers: [...states].map(([id, { seenAt: _, ...seen }]) => [id, seen]),
      queue: [
        queue.map(({ account_id, waiting, scheduled, oldest_due_at }) => [
          account_id,
          waiting,
          scheduled,
          roughly(oldest_due_at),
        ]),
        backlog.waiting,
      ],
      nodes: nodes.map(({ node_id, roles, is_gone, heard_at }) => [
        node_id,
        roles,
        is_gone,
        roughly(heard_at),
      ]),
    };
    return (["carriers", "queue", "nodes"] as const)
      .filter((type) => {
        const [before, now] = [seen.get(type), JSON.stringify(shown[type])];
        seen.set(type, now);
        return before !== undefined && before !== now;
      })
      .map((type) => ({ type }));
  };
}

/** Pages show ages, so smaller changes of a time are no reason to reload them. */
const ROUGHLY_MS = 10_000;

function roughly(at: Date | null): number | null {
  return at && Math.floor(at.getTime() / ROUGHLY_MS);
}
