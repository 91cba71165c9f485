import type { BlockList } from "node:net";
import { ranges } from "./address-table.ts";
import type { UrlVerdict } from "./judge-url.ts";

/** Where the operator lets webhooks go, as the settings say it. */
export type EgressSettings = {
  /** Ranges of the private tier that may be called; no setting opens the other tier. */
  allowCidrs: readonly string[];
  allowHttp: boolean;
  /** Ports of our own listener and of the database: never called on this machine or a private one. */
  ownPorts: readonly number[];
};

export type EgressPolicy = {
  readonly allowed: BlockList;
  readonly allowHttp: boolean;
  readonly ownPorts: ReadonlySet<number>;
  /** What `judgeUrl` found, by scheme and authority: a policy never changes, so neither do they. */
  readonly verdicts: Map<string, UrlVerdict>;
};

/** Throws where a range cannot be read, in words for the one who wrote the setting. */
export function egressPolicy(settings: EgressSettings): EgressPolicy {
  return {
    allowed: ranges(settings.allowCidrs),
    allowHttp: settings.allowHttp,
    ownPorts: new Set(settings.ownPorts),
    verdicts: new Map(),
  };
}
