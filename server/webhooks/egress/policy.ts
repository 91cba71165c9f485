import type { BlockList } from "node:net";
import { databasePorts } from "#platform";
import { ranges } from "./address-table.ts";
import type { UrlVerdict } from "./judge-url.ts";

/** Where the operator lets webhooks go, as given by the settings. */
export type EgressSettings = {
  /** Private ranges that may be called, `address/prefix`; no setting opens the other tier. */
  allowCidrs: readonly string[];
  allowHttp: boolean;
  /** Whether answers from private addresses are kept: they could reveal the operator's network. */
  showPrivateAnswers?: boolean;
  /** Ports of our listeners and the database: never called on this machine or a private one. */
  ownPorts: readonly number[];
};

export type EgressPolicy = {
  readonly allowed: BlockList;
  readonly allowHttp: boolean;
  readonly showPrivateAnswers: boolean;
  readonly ownPorts: ReadonlySet<number>;
  /** Verdicts of `judgeUrl` by scheme and authority: policies never change, so neither do they. */
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
  /** The URL of the database. */
  url: string;
  isEmbedded: boolean;
};

/**
 * As the settings say. By default, loopback, plain http and private answers are allowed only with
 * an embedded database.
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
