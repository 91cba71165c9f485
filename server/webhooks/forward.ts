import { hostKeyOf } from "#messages";
import type { Clock } from "#platform";
import { PRIVATE } from "./egress/address-table.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import { egressPolicy } from "./egress/policy.ts";
import { systemEgress } from "./egress/system-egress.ts";
import { attemptInWords } from "./attempt-words.ts";
import { outcomeClass } from "./outcome.ts";
import { poster } from "./post.ts";

export type Forwarded = { httpStatus: number | null; error: string | null; durationMs: number };

type Signed = { headers: Record<string, string>; body: Buffer };

export type Forwarder = {
  forward(event: Signed): Promise<Forwarded>;
  close(): Promise<void>;
};

/** Posts followed events to one address unchanged: the same bytes and headers. */
export function forwarder({ clock, url }: { clock: Clock; url: string }): Forwarder | string {
  // The user names an address on their own machine: all is allowed but what no setting opens.
  const policy = egressPolicy({ allowCidrs: PRIVATE, allowHttp: true, ownPorts: [] });
  const verdict = judgeUrl(url, policy);
  if (!verdict.allowed) return verdict.message;
  const posting = poster(systemEgress(policy, clock));
  const hostKey = hostKeyOf("", url);
  return {
    async forward({ headers, body }) {
      const { status, outcome, timings } = await posting.post({
        hostKey,
        url,
        headers,
        body,
      });
      const detail = outcome.kind === "answered" ? null : outcome.detail;
      const error = attemptInWords({ error_class: outcomeClass(outcome), error: detail });
      return { httpStatus: status, error, durationMs: Math.round(timings.totalMs) };
    },
    close: () => posting.close(),
  };
}
