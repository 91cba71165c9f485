import { judgeUrl } from "./egress/judge-url.ts";
import type { systemEgress } from "./egress/system-egress.ts";
import { poster } from "./post.ts";
import { threadedPoster, type ThreadedPoster } from "./threaded-poster.ts";

/**
 * Posts with TLS in separate threads: one for reliable receivers and one for strangers, whose
 * certificates may take seconds to verify. Posts without TLS in this thread.
 */
export function servicePoster(egress: ReturnType<typeof systemEgress>): ThreadedPoster {
  const plain = poster(egress);
  const reliable = threadedPoster(egress.policy);
  const strangers = threadedPoster(egress.policy);
  return {
    post(post) {
      const verdict = judgeUrl(post.url, egress.policy);
      const isSecure = verdict.allowed && verdict.secure;
      const secure = post.isReliable === true ? reliable : strangers;
      return (isSecure ? secure : plain).post(post);
    },
    recall(hostnames) {
      for (const { recall } of [egress.resolve, reliable, strangers]) recall(hostnames);
    },
    async close() {
      await Promise.all([plain, reliable, strangers].map((each) => each.close()));
    },
  };
}
