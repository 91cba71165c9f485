import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

type Ask = (name: string) => Promise<string[]>;

/**
 * Asks, and falls back to the hosts file, which Docker's `--add-host` and Kubernetes' `hostAliases`
 * write: the system looks there only for names without a final dot. Its addresses are judged like
 * any others.
 */
export function orHostsFile(ask: Ask, path = "/etc/hosts"): Ask {
  return async (name) => {
    try {
      return await ask(name);
    } catch (error) {
      // Without the file, the resolver's error stands.
      const text = await readFile(path, "utf8").catch(() => "");
      const addresses = addressesIn(text, name.replace(/\.$/, ""));
      if (addresses.length === 0) throw error;
      return addresses;
    }
  };
}

function addressesIn(text: string, name: string): string[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });
}
