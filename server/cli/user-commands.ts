import { memberRoles } from "#contract/words";
import { createUser, passwords } from "#console";
import { accountOption, unknownAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure } from "./command.ts";
import { flag, optional, required } from "./input.ts";
import { oneOf, text } from "./input-values.ts";
import { facts } from "./table.ts";

const create = command({
  name: "user create",
  summary: "Makes a user who signs in to the dashboard. The password comes from standard input.",
  arguments: {},
  options: {
    email: required("EMAIL", text, "What they sign in with."),
    passwordStdin: { ...flag("Read the password from standard input."), isRequired: true },
    account: accountOption,
    role: required("ROLE", oneOf(memberRoles), `${memberRoles.join(", ")}.`),
    name: optional("NAME", text, "What they are called; the e-mail's first part unless given."),
    operator: flag("Also let them run the installation: accounts, credits, carriers."),
  },
  prints: '{"userId"}',
  examples: [
    "user create --email ada@example.com --password-stdin --account 019a85c2-5b00-7abc-8def-0123456789ab --role owner --operator < password.txt",
  ],
  async run({ email, account, role, name, operator }, context) {
    const password = (await context.terminal.readInput()).replace(/\r?\n$/, "");
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
          `There is a user ${email} already. Choose another e-mail, or invite them in the dashboard.`,
        );
      case "account_unknown":
        return unknownAccount(account);
    }
  },
});

export const userCommands = [create];
