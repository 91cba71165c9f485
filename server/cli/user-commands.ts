import { memberRoles } from "#contract/words";
import {
  createUser,
  findUserByEmail,
  listUsers,
  makeResetLink,
  passwords,
  setOperator,
} from "#console";
import { accountOption, unknownAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure } from "./command.ts";
import { flag, optional, required } from "./input.ts";
import { oneOf, text } from "./input-values.ts";
import { facts, table } from "./table.ts";

const emailOption = required("EMAIL", text, "The user's e-mail, for signing in.");

const create = command({
  name: "user create",
  summary:
    "Creates a user who can sign in to the dashboard. The password is read from standard input.",
  options: {
    email: emailOption,
    passwordStdin: { ...flag("Read the password from standard input."), isRequired: true },
    account: accountOption,
    role: required("ROLE", oneOf(memberRoles), `${memberRoles.join(", ")}.`),
    name: optional("NAME", text, "The user's name. Default: the first part of the e-mail."),
    operator: flag(
      "Also make the user an operator of the installation: accounts, credits, carriers.",
    ),
  },
  prints: '{"userId"}',
  examples: [
    "user create --email ada@example.com --password-stdin --account 019a85c2-5b00-7abc-8def-0123456789ab --role owner --operator < password.txt",
  ],
  async run({ email, account, role, name, operator }, context) {
    const password = await context.terminal.readSecret();
    const { db } = await context.installation();
    const wish = { email, password, accountId: account, role, isOperator: operator };
    const created = await createUser(
      { db, passwords: passwords() },
      { ...wish, ...(name === undefined ? {} : { name }), actor: ACTOR, now: context.clock.now() },
    );
    switch (created.outcome) {
      case "created":
        return { json: { userId: created.userId }, text: facts({ userId: created.userId }) };
      case "invalid":
        throw new CommandFailure(created.problems.join("\n"));
      case "email_taken":
        throw new CommandFailure(
          `There is already a user ${email}. Choose another e-mail, or invite them in the dashboard.`,
        );
      case "account_unknown":
        return unknownAccount(account);
    }
  },
});

const list = command({
  name: "user list",
  summary: "Lists who can sign in to the dashboard, with their accounts and roles.",
  prints:
    '{"data":[{"userId","name","email","isOperator","accounts":[{"accountId","name","role"}]}]}',
  examples: ["user list"],
  async run(_given, context) {
    const { db } = await context.installation();
    const data = await listUsers(db);
    const lines = data.map(({ email, name, isOperator, accounts }) => [
      email,
      name,
      isOperator ? "yes" : "no",
      accounts.map((account) => `${account.name} (${account.role})`),
    ]);
    return { json: { data }, text: table(["EMAIL", "NAME", "OPERATOR", "ACCOUNTS"], lines) };
  },
});

const reset = command({
  name: "user reset",
  summary: "Creates a one-time link with which a user can set a new password.",
  options: {
    email: emailOption,
    dropSecondFactor: flag(
      "The link also switches off the second factor, for a user who has lost both authenticator and recovery codes.",
    ),
  },
  prints: '{"link","expiresAt"}',
  examples: [
    "user reset --email ada@example.com",
    "user reset --email ada@example.com --drop-second-factor",
  ],
  async run({ email, dropSecondFactor: dropsSecondFactor }, context) {
    const { db, publicUrl } = await context.installation();
    const user = await findUserByEmail(db, email);
    if (!user) return unknownUser(email);
    const wish = { userId: user.user_id, dropsSecondFactor, publicUrl };
    const made = await makeResetLink(db, { ...wish, actor: ACTOR, now: context.clock.now() });
    const json = { link: made.link, expiresAt: made.expiresAt.toISOString() };
    return { json, text: facts(json) };
  },
});

const set = command({
  name: "user set",
  summary: "Makes a user an operator, or takes that away. The user's sessions end.",
  options: {
    email: emailOption,
    operator: required(
      "YES_OR_NO",
      oneOf(["yes", "no"]),
      "Whether the user runs the installation: accounts, credits, carriers.",
    ),
  },
  prints: '{"userId","isOperator"}',
  examples: ["user set --email ada@example.com --operator no"],
  async run({ email, operator }, context) {
    const { db } = await context.installation();
    const isOperator = operator === "yes";
    const wish = { email, isOperator, actor: ACTOR, now: context.clock.now() };
    const change = await setOperator(db, wish);
    switch (change.outcome) {
      case "changed":
      case "unchanged": {
        const json = { userId: change.userId, isOperator };
        return { json, text: facts(json) };
      }
      case "last_operator":
        throw new CommandFailure(
          `${email} is the only operator. Make someone else one first: npx posthorn user set --email EMAIL --operator yes`,
        );
      case "unknown":
        return unknownUser(email);
    }
  },
});

function unknownUser(email: string): never {
  throw new CommandFailure(`There is no user ${email}. List them with: npx posthorn user list`);
}

export const userCommands = [create, list, reset, set];
