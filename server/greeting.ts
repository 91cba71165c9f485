import { isEveryAddress } from "./installation.ts";
import type { Config } from "./settings.ts";
import { version } from "./version.ts";

type Running = {
  isEmbedded: boolean;
  publicUrl: string;
  /** The link that sets up the installation; undefined once that is done. */
  setup: string | undefined;
};

/** Tells the person at the terminal what runs where. */
export function greeting(config: Config, { isEmbedded, publicUrl, setup }: Running): string {
  const { roles } = config;
  const database = isEmbedded
    ? `embedded PostgreSQL in ${config.dataDir}`
    : "PostgreSQL at DATABASE_URL";
  const allowsHttp = isEmbedded && config.webhookAllowHttp === undefined;
  return [
    `Posthorn ${version} is running.`,
    ...(roles.has("dashboard") ? [`  Dashboard  ${publicUrl}`] : []),
    ...(roles.has("api") ? [`  API        ${publicUrl}/v1`] : []),
    `  Reference  ${publicUrl}/docs`,
    ...(config.publicUrl === undefined && isEveryAddress(config.host)
      ? ["  Address    all of this machine; set PUBLIC_URL to the one that people use"]
      : []),
    `  Database   ${database}`,
    ...webhookRanges(config, isEmbedded).map(
      (ranges) => `  Webhooks   ${ranges} are allowed (WEBHOOK_ALLOW_CIDRS)`,
    ),
    ...(allowsHttp ? ["  Webhooks   plain http is allowed (WEBHOOK_ALLOW_HTTP)"] : []),
    ...(setup === undefined
      ? []
      : ["", "To set up this installation, open this one-time link:", `  ${setup}`, ""]),
    "Stop with Ctrl+C.",
    "",
  ].join("\n");
}

/** The non-public addresses that webhooks may call, if any. */
function webhookRanges({ webhookAllowCidrs: named }: Config, isEmbedded: boolean): string[] {
  if (named === undefined) return isEmbedded ? ["loopback addresses"] : [];
  return named.length > 0 ? [`addresses in ${named.join(", ")}`] : [];
}
