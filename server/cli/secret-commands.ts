import { resealKeyProof, resealSigningSecrets } from "#accounts";
import { resealSecondFactors } from "#console";
import { resealCarriers } from "#sending";
import { command, CommandFailure } from "./command.ts";
import { facts } from "./table.ts";

const reseal = command({
  name: "secrets reseal",
  summary: "Encrypts with SECRET_KEY everything that was encrypted with SECRET_KEY_PREVIOUS.",
  prints: '{"signingSecrets","carrierPasswords","secondFactors"}',
  examples: ["secrets reseal"],
  async run(_given, context) {
    const { settings, db, secrets } = await context.installation();
    if (!settings.secretKeyPrevious)
      throw new CommandFailure(
        "SECRET_KEY_PREVIOUS is not set, so nothing encrypted with the old key can be opened. Set it to the old key, and SECRET_KEY to the new one.",
      );
    const box = await secrets();
    // What was resealed stays so: if the command is interrupted, simply run it again.
    const resealed = {
      signingSecrets: await resealSigningSecrets(db, box),
      carrierPasswords: await resealCarriers(db, box),
      secondFactors: await resealSecondFactors(db, box),
    };
    await resealKeyProof(db, box);
    const text = `${facts(resealed)}\n\nYou can now remove SECRET_KEY_PREVIOUS on every node.`;
    return { json: resealed, text };
  },
});

export const secretCommands = [reseal];
