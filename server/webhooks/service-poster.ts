import { judgeUrl } from "./egress/judge-url.ts";
import type { systemEgress } from "./egress/system-egress.ts";
import { poster } from "./post.ts";
import { threadedPoster, type ThreadedPoster } from "./threaded-poster.ts";

/** Posts as a service does: where TLS is spoken, in a thread of its own. */
export function servicePoster(egress: ReturnType<typeof systemEgress>): ThreadedPoster {
  const plain = poster(egress);
  const secure = threadedPoster(egress.policy);
  return {
    post(post) {
      const verdict = judgeUrl(post.url, egress.policy);
      return (verdict.allowed && verdict.secure ? secure : plain).post(post);
    },
    recall(hostnames) {
      egress.resolve.recall(hostnames);
      secure.recall(hostnames);
    },
    async close() {
      await Promise.all([plain.close(), secure.close()]);
    },
  };
}
