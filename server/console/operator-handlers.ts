import {
  browseAccounts,
  findAccountNames,
  findAccounts,
  judgeName,
  lineFaults,
  lockAccounts,
  recordAudit,
} from "#accounts";
import type { AccountRow, RemoteActor } from "#accounts";
import type { OperatorAccount } from "#contract";
import { bookCredits, openAccount } from "#credits";
import type { Pager } from "#http";
import { measureQueue } from "#messages";
import {
  type Clock,
  type Database,
  type Queryable,
  type SecretBox,
  type Transaction,
  within,
} from "#platform";
import { listNodes } from "#sending";
import { measureBacklog } from "#webhooks";
import { makeResetLink } from "./change-user.ts";
import type { ConsoleHandlers } from "./console-call.ts";
import { fieldProblem, refuseFields } from "./field-problems.ts";
import { takeFormKey } from "./form-keys.ts";
import { insertLink, withdrawOwnerLinks } from "./links.ts";
import { accountsOfUsers, browseUsers, peopleOfAccounts } from "./operator-users.ts";
import { findUser } from "./users.ts";

type Deps = { db: Database; clock: Clock; pager: Pager; secrets: SecretBox; publicUrl: string };

/** What the installation's operator does: accounts, credits, users, and a look at the queue. */
export function operatorHandlers({ db, clock, pager, secrets, publicUrl }: Deps) {
  const insertOwnerLink = (
    tx: Transaction,
    { accountId, actor, now }: { accountId: string; actor: RemoteActor; now: Date },
  ) => {
    const wish = { kind: "invitation", role: "owner", accountId, now, publicUrl } as const;
    return insertLink(tx, { ...wish, createdBy: actor.name });
  };
  return {
    async listAccounts({ query }) {
      const words = query.q ?? null;
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["accounts", words],
        browse: (page) => browseAccounts(db, { words, ...page }),
        idOf: (row) => row.account_id,
      });
      return { data: await presentAccounts(db, rows), ...cursors };
    },

    async createAccount({ body, person, actor, idempotencyKey, problem, holdAccess }) {
      const now = clock.now();
      refuseFields({ name: judgeName(body.name) });
      const made = await db.transaction(async (tx) => {
        await holdAccess(tx);
        const form = {
          userId: person.userId,
          key: idempotencyKey,
          operation: "createAccount",
          now,
        };
        if (!(await takeFormKey(tx, form)).isFirst) throw problem("LINK_ALREADY_MADE");
        const account = { name: body.name.trim(), credits: body.credits ?? 0, actor, now, secrets };
        const { accountId } = await openAccount(within(tx), account);
        return { accountId, ...(await insertOwnerLink(tx, { accountId, actor, now })) };
      });
      const [account] = await presentAccounts(db, await findAccounts(db, [made.accountId]));
      return {
        account: account as OperatorAccount,
        link: made.link,
        expiresAt: made.expiresAt.toISOString(),
      };
    },

    async makeOwnerLink({ params: { accountId }, actor, problem, holdAccess }) {
      const now = clock.now();
      return db.transaction(async (tx) => {
        await holdAccess(tx);
        // Of several links made at once, each withdraws the one before it.
        await lockAccounts(tx, [accountId]);
        // Before looking for owners: this waits for anyone just joining, who then is one.
        await withdrawOwnerLinks(tx, { accountId, now });
        const [account] = await presentAccounts(tx, await findAccounts(tx, [accountId]));
        if (!account) throw problem("ACCOUNT_NOT_FOUND");
        if (account.owners.length > 0) throw problem("ACCOUNT_HAS_OWNER");
        const { link, expiresAt } = await insertOwnerLink(tx, { accountId, actor, now });
        const action = "account.owner_link_made";
        await recordAudit(tx, action, { actor, now, accountId, objectId: accountId });
        return { link, expiresAt: expiresAt.toISOString() };
      });
    },

    async bookCredits({ params: { accountId }, body, actor, problem, holdAccess }) {
      const { kind, amount, note, reference } = body;
      refuseFields({
        amount: judgeAmount(kind, amount),
        note: lineFaults(note).map((fault) => `The note ${fault}`),
        reference: lineFaults(reference).map((fault) => `The reference ${fault}`),
      });
      const now = clock.now();
      const booked = await db.transaction(async (tx) => {
        await holdAccess(tx);
        const booking = { accountId, kind, amount, note, reference, actor, now };
        return bookCredits(within(tx), booking);
      });
      switch (booked.outcome) {
        case "account_unknown":
          throw problem("ACCOUNT_NOT_FOUND");
        case "below_zero":
          throw fieldProblem(
            "amount",
            `The balance is ${booked.balance}; it cannot go below zero.`,
          );
        case "reference_reused":
          throw fieldProblem("reference", "It was already booked with another amount.");
        case "booked":
        case "repeated":
          return { outcome: booked.outcome, balance: booked.balance };
      }
    },

    async listUsers({ query }) {
      const words = query.q ?? null;
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["users", words],
        browse: (page) => browseUsers(db, { words, ...page }),
        idOf: (row) => row.user_id,
      });
      const accounts = await accountsOfUsers(
        db,
        rows.map(({ user_id }) => user_id),
      );
      const data = rows.map((row) => ({
        userId: row.user_id,
        name: row.name,
        email: row.email,
        isOperator: row.is_operator,
        hasSecondFactor: row.has_second_factor,
        lastSeenAt: row.last_seen_at?.toISOString() ?? null,
        accounts: accounts.get(row.user_id) ?? [],
      }));
      return { data, ...cursors };
    },

    async makeResetLink({ params: { userId }, body, actor, problem, holdAccess }) {
      const now = clock.now();
      if (!(await findUser(db, userId))) throw problem("USER_NOT_FOUND");
      const dropsSecondFactor = body.dropSecondFactor ?? false;
      const made = await db.transaction(async (tx) => {
        await holdAccess(tx);
        const wish = { userId, dropsSecondFactor, publicUrl, actor, now };
        return makeResetLink(within(tx), wish);
      });
      return { link: made.link, expiresAt: made.expiresAt.toISOString() };
    },

    async readQueue() {
      const [queue, webhooks] = await Promise.all([measureQueue(db), measureBacklog(db)]);
      const byAccount = Map.groupBy(queue, ({ account_id }) => account_id);
      const names = await findAccountNames(db, byAccount.keys());
      const data = [...byAccount].map(([accountId, rows]) => ({
        accountId,
        name: names.get(accountId) ?? "",
        ...depthOf(rows),
      }));
      return {
        ...depthOf(queue),
        accounts: data.toSorted((a, b) => b.waiting - a.waiting).slice(0, MAX_ACCOUNTS_SHOWN),
        webhooks: {
          waiting: webhooks.waiting,
          isMore: webhooks.isMore,
          oldestDueAt: webhooks.oldestDueAt?.toISOString() ?? null,
        },
      };
    },

    async listNodes() {
      const rows = await listNodes(db);
      const data = rows.map((row) => ({
        nodeId: row.node_id,
        hostname: row.host,
        roles: row.roles,
        softwareVersion: row.version,
        startedAt: row.started_at.toISOString(),
        heardAt: row.heard_at.toISOString(),
        isStale: row.is_gone,
      }));
      return { data };
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Only the longest queues are listed; the totals beside them cover all. */
const MAX_ACCOUNTS_SHOWN = 100;

function judgeAmount(kind: "topup" | "adjustment", amount: number): string[] {
  if (amount === 0) return ["The amount must not be zero."];
  return kind === "topup" && amount < 0
    ? ["A top-up adds credits; to take some, book an adjustment."]
    : [];
}

/** The totals of several lines of the queue. */
function depthOf(lines: Awaited<ReturnType<typeof measureQueue>>) {
  const dueMs = lines.flatMap(({ oldest_due_at }) => oldest_due_at?.getTime() ?? []);
  return {
    waiting: lines.reduce((sum, line) => sum + line.waiting, 0),
    scheduled: lines.reduce((sum, line) => sum + line.scheduled, 0),
    isMore: lines.some(({ is_more }) => is_more),
    oldestDueAt: dueMs.length === 0 ? null : new Date(Math.min(...dueMs)).toISOString(),
  };
}

async function presentAccounts(db: Queryable, rows: AccountRow[]): Promise<OperatorAccount[]> {
  const people = await peopleOfAccounts(
    db,
    rows.map(({ account_id }) => account_id),
  );
  return rows.map((row) => {
    const members = people.get(row.account_id) ?? [];
    return {
      accountId: row.account_id,
      name: row.name,
      balance: row.balance,
      createdAt: row.created_at.toISOString(),
      members: members.length,
      owners: members
        .filter(({ role }) => role === "owner")
        .map(({ user_id, name, email }) => ({ userId: user_id, name, email })),
    };
  });
}
