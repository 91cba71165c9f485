import { Type } from "typebox";
import { ACCOUNT, consoleOperation, IDEMPOTENCY, inAccount } from "./console-operation.ts";
import { closed, nullable, Time } from "./schema.ts";

const SigningSecret = Type.Object({
  mask: Type.String(),
  createdAt: Time,
  previousUntil: nullable(Time),
});

const RevealedSecret = Type.Object({
  signingSecret: Type.String(),
  previousSigningSecret: nullable(Type.String()),
  previousUntil: nullable(Time),
});

/** The secret that signs an account's webhooks. */
export const secretOperations = {
  readSigningSecret: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/signing-secret`,
    summary: "Read about the signing secret, masked",
    access: "viewer",
    params: inAccount(),
    success: { status: 200, body: SigningSecret },
  }),
  revealSigningSecret: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/signing-secret/reveal`,
    summary: "Reveal the signing secret; the audit log says who looked",
    access: "developer",
    proof: true,
    audit: "secret.revealed",
    params: inAccount(),
    success: { status: 200, body: RevealedSecret },
  }),
  rotateSigningSecret: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/signing-secret/rotate`,
    summary: "Make a new signing secret; the old one also signs for a while, or is dropped at once",
    access: "developer",
    proof: true,
    audit: "secret.rotated",
    headers: IDEMPOTENCY,
    params: inAccount(),
    body: closed(
      {
        overlapHours: Type.Integer({
          minimum: 0,
          maximum: 72,
          description: "0 drops the old one, and one before it that still signs.",
        }),
        dropPrevious: Type.Optional(
          Type.Boolean({
            description:
              "Confirms a rotation while two secrets sign: it drops the older one at once.",
          }),
        ),
      },
      { examples: [{ overlapHours: 24 }] },
    ),
    success: { status: 200, body: RevealedSecret },
    errors: ["ROTATION_UNCONFIRMED", "IDEMPOTENCY_KEY_INVALID", "IDEMPOTENCY_KEY_REUSED"],
  }),
};
