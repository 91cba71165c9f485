import type { OperatorStreamEvent } from "#contract";
import { measureQueue } from "#messages";
import type { Database } from "#platform";
import { listCarriers, listNodes, readCarrierStates } from "#sending";
import { measureBacklog } from "#webhooks";

/** Tells, each time it is called, which of the operator's pages show something else than last time. */
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
      carriers: [...states].map(([id, { state, links, lastHour, sinceStart }]) => [
        id,
        state,
        lastHour,
        sinceStart,
        links.map((link) => [link.state, link.problem, link.enquireLinkAt]),
      ]),
      queue: [
        queue.map(({ account_id, waiting, scheduled }) => [account_id, waiting, scheduled]),
        backlog.waiting,
      ],
      nodes: nodes.map(({ node_id, roles, is_gone }) => [node_id, roles, is_gone]),
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
