import type { Check, Violation } from "./checker.ts";
import type { Send } from "./history.ts";
import type { LedgerState, State } from "./state.ts";

/** H4: credits given, minus messages that exist and did not fail, equal the balance everywhere. */
const moneyAddsUp: Check = (history, state) =>
  state.accounts.flatMap(({ accountId, balance }): Violation[] => {
    const own = state.messages.filter((message) => message.accountId === accountId);
    const given = sum(
      state.ledger
        .filter((entry) => entry.accountId === accountId && entry.kind === "topup")
        .map(({ amount }) => amount),
    );
    const spent = sum(
      own.filter(({ status }) => status !== "FAILED").map(({ credits }) => credits),
    );
    const told = history.of("balance").filter((entry) => entry.accountId === accountId);
    return [
      ...(given - spent === balance
        ? []
        : [{ check: "H4", what: "a balance is wrong", accountId, given, spent, balance }]),
      ...told
        .filter((entry) => entry.balance !== balance)
        .map((entry) => ({
          check: "H4",
          what: "a node tells another balance",
          accountId,
          node: entry.node,
        })),
    ];
  });

/** H4: every message is charged once, and refunded once if it FAILED, otherwise never. */
const chargesAndRefunds: Check = (_history, { messages, ledger }) => {
  const entries = Map.groupBy(ledger, ({ messageId }) => messageId);
  return messages.flatMap(({ messageId, credits, status }): Violation[] => {
    const amounts = (kind: string) =>
      (entries.get(messageId) ?? [])
        .filter((entry) => entry.kind === kind)
        .map(({ amount }) => amount)
        .join();
    const isCharged = amounts("charge") === String(-credits);
    const isRefunded = amounts("refund") === (status === "FAILED" ? String(credits) : "");
    return [
      ...(isCharged ? [] : [{ check: "H4", what: "a message is not charged once", messageId }]),
      ...(isRefunded ? [] : [{ check: "H4", what: "a refund is wrong", messageId, status }]),
    ];
  });
};

/** H4: an answered top-up is booked once; one that was cut off, at most once. */
const topUpsAreBooked: Check = (history, { ledger }) => {
  const booked = Map.groupBy(ledger, ({ note }) => note);
  return history.of("topup").flatMap(({ note, amount, outcome }) => {
    const found = booked.get(note) ?? [];
    const isFine =
      found.every((entry) => entry.amount === amount) &&
      (outcome === "ok" ? found.length === 1 : found.length <= 1);
    return isFine ? [] : [{ check: "H4", what: "a top-up is not booked as answered", note }];
  });
};

/** H5: a refusal for lack of credits is explained by a balance that the account had meanwhile. */
const refusalsAreExplained: Check = (history, state) => {
  const answered = orderOfCharges(history.of("send"), state);
  return history
    .of("send")
    .filter(({ code }) => code === "CREDITS_INSUFFICIENT")
    .flatMap((send) => {
      const { accountId, t0, t1, required, available } = send;
      const chain = state.ledger.filter((entry) => entry.accountId === accountId);
      const own = answered.get(accountId) ?? [];
      const first = Math.max(0, ...own.filter((each) => each.t1 < t0).map(({ seq }) => seq));
      const beyond = Math.min(
        Number.POSITIVE_INFINITY,
        ...own.filter((each) => each.t0 > t1).map(({ seq }) => seq),
      );
      const isPossible = chain.some(
        ({ seq, balanceAfter }) => seq >= first && seq < beyond && balanceAfter === available,
      );
      return isPossible && (available ?? 0) < (required ?? 0)
        ? []
        : [
            {
              check: "H5",
              what: "a refusal for want of credits is not explained",
              accountId,
              available,
              required,
            },
          ];
    });
};

type Charged = { seq: number; t0: number; t1: number };

/** The position of each answered send in its account's ledger. */
function orderOfCharges(sends: Send[], { ledger }: State): Map<string, Charged[]> {
  const charges = new Map<string | null, LedgerState>(
    ledger.filter(({ kind }) => kind === "charge").map((entry) => [entry.messageId, entry]),
  );
  // Not with a key: of several answers under one key, only the first tells when it was charged.
  const placed = sends
    .filter(({ outcome, idempotencyKey }) => outcome === "ok" && idempotencyKey === null)
    .flatMap(({ messageIds, accountId, t0, t1 }) => {
      const seq = charges.get(messageIds[0] ?? null)?.seq;
      return seq === undefined ? [] : [{ accountId, seq, t0, t1 }];
    });
  return Map.groupBy(placed, ({ accountId }) => accountId);
}

/** H6: no request begun after a revocation was answered is accepted; an answer names the reason. */
const revokedKeysAreDead: Check = (history) => {
  const revoked = new Map(
    history
      .of("revocation")
      .filter(({ outcome }) => outcome === "ok")
      .map(({ keyId, t1 }) => [keyId, t1]),
  );
  return history.of("send").flatMap(({ keyId, t0, outcome, code, messageIds }) => {
    if (t0 <= (revoked.get(keyId) ?? Number.POSITIVE_INFINITY)) return [];
    const isFine =
      outcome === "unknown" ||
      (outcome === "refused" && (code === "API_KEY_REVOKED" || code === "UNAVAILABLE"));
    return isFine
      ? []
      : [{ check: "H6", what: "a revoked key was served", keyId, code, messageIds }];
  });
};

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

export const creditChecks: readonly Check[] = [
  moneyAddsUp,
  chargesAndRefunds,
  topUpsAreBooked,
  refusalsAreExplained,
  revokedKeysAreDead,
];
