import { type Static, Type } from "typebox";
import { consoleOperation, SeenVersion } from "./console-operation.ts";
import { closed, Id, oneOf, Time } from "./schema.ts";
import { memberRoles } from "./words.ts";

const preferences = {
  theme: oneOf(["system", "light", "dark"]),
  zone: oneOf(["browser", "utc"]),
  shortcuts: Type.Boolean({ description: "Whether single letters are shortcuts." }),
};

const Membership = Type.Object({
  accountId: Id,
  name: Type.String(),
  role: oneOf(memberRoles),
  balance: Type.Integer(),
  lowCredits: Type.Integer({ description: "At or below this balance, credits are low." }),
});

const Me = Type.Object({
  userId: Id,
  name: Type.String(),
  email: Type.String(),
  isOperator: Type.Boolean(),
  hasSecondFactor: Type.Boolean(),
  recoveryCodesLeft: Type.Integer(),
  preferences: Type.Object(preferences),
  version: Type.Integer(),
  accounts: Type.Array(Membership),
  provenUntil: Time,
  publicUrl: Type.String({
    description: "Where this installation is reached, without a last /.",
  }),
  softwareVersion: Type.String(),
});
export type Me = Static<typeof Me>;

export const userOperations = {
  readMe: consoleOperation({
    method: "GET",
    path: "/console/me",
    summary: "Read who is signed in: the user, accounts with roles, preferences",
    access: "user",
    success: { status: 200, body: Me },
  }),
  updateMe: consoleOperation({
    method: "PATCH",
    path: "/console/me",
    summary: "Change name or preferences",
    access: "user",
    audit: "user.changed",
    body: closed(
      {
        version: SeenVersion,
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
        preferences: Type.Optional(
          closed({
            theme: Type.Optional(preferences.theme),
            zone: Type.Optional(preferences.zone),
            shortcuts: Type.Optional(preferences.shortcuts),
          }),
        ),
      },
      { examples: [{ version: 1, preferences: { theme: "dark" } }] },
    ),
    success: { status: 200, body: Me },
    errors: ["VERSION_CONFLICT"],
  }),
};
