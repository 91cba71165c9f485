import type { BlockList } from "node:net";
import { databasePorts } from "#platform";
import { ranges } from "./address-table.ts";
import type { UrlVerdict } from "./judge-url.ts";

/** Where the operator lets webhooks go, as the settings say it. */
export type EgressSettings = {
  /** `address/prefix` of the private tier that may be called; no setting opens the other tier. */
  allowCidrs: readonly string[];
  allowHttp: boolean;
  /** Whether answers from private addresses are kept; else an account could read the operator's network. */
  showPrivateAnswers?: boolean;
  /** Ports of our own listeners and of the database: never called on this machine or a private one. */
  ownPorts: readonly number[];
};

export type EgressPolicy = {
  readonly allowed: BlockList;
  readonly allowHttp: boolean;
  readonly showPrivateAnswers: boolean;
  readonly ownPorts: ReadonlySet<number>;
  /** What `judgeUrl` found, by scheme and authority: a policy never changes, so neither do they. */
  readonly verdicts: Map<string, UrlVerdict>;
};

export function egressPolicy(settings: EgressSettings): EgressPolicy {
  return {
    allowed: ranges(settings.allowCidrs),
    allowHttp: settings.allowHttp,
    showPrivateAnswers: settings.showPrivateAnswers ?? false,
    ownPorts: new Set(settings.ownPorts),
    verdicts: new Map(),
  };
}

type Allowances = {
  webhookAllowCidrs: readonly string[] | undefined;
  webhookAllowHttp: boolean | undefined;
  webhookShowPrivateAnswers: boolean | undefined;
};

type Service = {
  settings: Allowances & { port: number; metricsListen: { port: number } | undefined };
  /** Of the database. */
  url: string;
  isEmbedded: boolean;
};

/**
 * As the settings say; where they are silent, loopback, plain http and private answers beside an
 * embedded database alone.
 */
export function allowances(
  settings: Allowances,
  isEmbedded: boolean,
): Required<Omit<EgressSettings, "ownPorts">> {
  return {
    allowCidrs: settings.webhookAllowCidrs ?? (isEmbedded ? ["127.0.0.0/8", "::1/128"] : []),
    allowHttp: settings.webhookAllowHttp ?? isEmbedded,
    showPrivateAnswers: settings.webhookShowPrivateAnswers ?? isEmbedded,
  };
}

export function servicePolicy({ settings, url, isEmbedded }: Service): EgressPolicy {
  const { port, metricsListen } = settings;
  return egressPolicy({
    ...allowances(settings, isEmbedded),
    ownPorts: [port, ...(metricsListen ? [metricsListen.port] : []), ...databasePorts(url)],
  });
}
