import { connect, isIP, type Socket } from "node:net";
import type { Clock } from "#platform";
import { connectFailure, type Failure, failed } from "./failure.ts";

type Dialled = { socket: Socket; address: string };
type Budget = { budgetMs: number; clock: Clock };
type Undialled = { failure: Failure; address: string };

/** Round-robin names have a dozen addresses; after three dead ones the next try may do better. */
const MAX_ADDRESSES_TRIED = 3;

/** Tries a few addresses in turn, each with its share of the remaining budget. */
export async function dialOneOf(
  addresses: readonly string[],
  port: number,
  { budgetMs, clock }: Budget,
): Promise<Dialled | Undialled> {
  const endMs = clock.monotonicMs() + budgetMs;
  const tried = familiesInTurn(addresses).slice(0, MAX_ADDRESSES_TRIED);
  const failures: Undialled[] = [];
  for (const address of tried) {
    const shareMs = (endMs - clock.monotonicMs()) / (tried.length - failures.length);
    const dialled = await dial(address, port, { budgetMs: shareMs, clock });
    if ("socket" in dialled) return dialled;
    failures.push(dialled);
  }
  // Our own fault on one address says less than the receiver's refusal on another.
  const telling = failures.find(({ failure }) => failure.kind !== "our_fault") ?? failures[0];
  return telling ?? { failure: failed("dns_not_found", "no address"), address: "" };
}

/** As RFC 8305 asks: if one address family leads nowhere, the other is tried soon. */
function familiesInTurn(addresses: readonly string[]): string[] {
  const isOfFirst = (address: string) => isIP(address) === isIP(addresses[0] ?? "");
  const own = addresses.filter(isOfFirst);
  const other = addresses.filter((address) => !isOfFirst(address));
  const pairs = own.flatMap((address, n) => [address, ...other.slice(n, n + 1)]);
  return [...pairs, ...other.slice(own.length)];
}

function dial(
  address: string,
  port: number,
  { budgetMs, clock }: Budget,
): Promise<Dialled | Undialled> {
  return new Promise((settle) => {
    const socket = connect({ host: address, port, noDelay: true, autoSelectFamily: false });
    const cancel = clock.timer(budgetMs, () => {
      socket.destroy(Object.assign(new Error("not accepted in time"), { code: "ETIMEDOUT" }));
    });
    socket.once("connect", () => {
      cancel();
      settle({ socket, address });
    });
    // Stays attached: an error before the next owner listens must not end the process.
    socket.on("error", (error) => {
      cancel();
      settle({ failure: connectFailure(error, address), address });
    });
  });
}
