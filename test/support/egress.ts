import { Resolver } from "node:dns/promises";
import { systemClock } from "#platform";
import { egressPolicy, type EgressSettings } from "../../server/webhooks/egress/policy.ts";
import { connectBudgets, type Egress } from "../../server/webhooks/egress/connect.ts";
import type { Resolve } from "../../server/webhooks/egress/resolve.ts";
import { trust } from "../../server/webhooks/egress/trust.ts";

type EgressOptions = Partial<EgressSettings> & {
  resolve?: Resolve;
  certificates?: string[];
  budgets?: Partial<Egress["budgets"]>;
};

/** The guard with the embedded installation's policy, and no resolver unless one is given. */
export function testEgress(options: EgressOptions = {}): Egress {
  const { allowCidrs = ["127.0.0.0/8", "::1/128"], allowHttp = true, ownPorts = [] } = options;
  const { showPrivateAnswers = true } = options;
  return {
    policy: egressPolicy({ allowCidrs, allowHttp, showPrivateAnswers, ownPorts }),
    clock: systemClock,
    resolve: options.resolve ?? (() => Promise.reject(new Error("nobody to ask"))),
    trust: trust(options.certificates),
    budgets: { ...connectBudgets, ...options.budgets },
  };
}

/** Asks the name server at `address` for IPv4 and IPv6, as the system's resolver would. */
export function resolveBy(address: string, types = ["A", "AAAA"]): Resolve {
  const resolver = new Resolver({ timeout: 10_000, tries: 1 });
  resolver.setServers([address]);
  return async (name) => {
    const found = await Promise.allSettled(
      types.map((type) => (type === "A" ? resolver.resolve4(name) : resolver.resolve6(name))),
    );
    const addresses = found.flatMap((answer) =>
      answer.status === "fulfilled" ? answer.value : [],
    );
    const [first] = found;
    if (addresses.length === 0 && first?.status === "rejected") throw first.reason;
    return addresses;
  };
}
