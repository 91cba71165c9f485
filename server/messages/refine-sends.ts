import type { Detail, NewMessage } from "#contract";
import type { Refinement } from "#http";
import { isByRouting, judgeFields } from "./draft.ts";
import type { Routing } from "./routing.ts";
import { batchPrefix, type SendDeps } from "./send.ts";

/** Names everything else that is wrong with a send whose shape is already wrong. */
export function sendRefinements(deps: Pick<SendDeps, "clock" | "routing" | "judgeUrl">) {
  const one = (message: unknown, own: string[], prefix: string, routing: Routing): Detail[] => {
    if (typeof message !== "object" || message === null || Array.isArray(message)) return [];
    const context = { now: deps.clock.now(), routing, judgeUrl: deps.judgeUrl };
    const wrong = new Set(own.map((field) => firstName(field.slice(prefix.length))));
    const { details } = judgeFields(message as NewMessage, context, wrong);
    return details.map((detail) => ({ ...detail, field: `${prefix}${detail.field}` }));
  };
  const single: Refinement = (body, wrong) =>
    judgeByRouting(deps, (routing) => one(body, [...wrong], "", routing));
  const batch: Refinement = async (body, wrong) => {
    const messages = (body as { messages?: unknown } | null)?.messages;
    if (!Array.isArray(messages)) return [];
    const byPrefix = Map.groupBy(wrong, (field) => field.slice(0, field.indexOf(".") + 1));
    return judgeByRouting(deps, (routing) =>
      messages.slice(0, 1000).flatMap((message: unknown, n) => {
        const prefix = batchPrefix(n);
        return one(message, byPrefix.get(prefix) ?? [], prefix, routing);
      }),
    );
  };
  return { sendMessage: single, sendBatch: batch, previewMessage: single };
}

/** Judges by remembered routes, but reloads them before anything is refused because of them. */
async function judgeByRouting(
  { routing }: Pick<SendDeps, "routing">,
  judge: (routing: Routing) => Detail[],
): Promise<Detail[]> {
  const known = await routing.current();
  const details = judge(known);
  if (!details.some(isByRouting)) return details;
  const current = await routing.reload();
  return current.version === known.version ? details : judge(current);
}

function firstName(path: string): string {
  return path.split(".")[0] ?? "";
}
