import { Anchor, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { call } from "./api.ts";
import { nowMs } from "./clock.ts";
import { Failure, isProofFailure, localFailure } from "./failure.ts";
import { meOptions, useMe } from "./session.ts";
import { proofText as text } from "./text/proof.ts";
import { words } from "./text/words.ts";

/** A proof that runs out while a form is filled in is asked for at once, not after a refusal. */
const MARGIN_MS = 60_000;

type Method = "password" | "code";

export type Proof = {
  /** What the dialog shows for it; nothing while the last proof holds. */
  fields: ReactNode;
  /** Gives the proof if one is needed, then acts. */
  guard: <Result>(act: () => Promise<Result>) => Promise<Result>;
};

/** A password or code, asked inside the same dialog where the last one is older than 10 minutes. */
export function useProof(): Proof {
  const { provenUntil, hasSecondFactor } = useMe();
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [isNeeded, setIsNeeded] = useState(
    () => provenUntil === null || Date.parse(provenUntil) < nowMs() + MARGIN_MS,
  );
  const [method, setMethod] = useState<Method>("password");
  const [value, setValue] = useState("");
  const [error, setError] = useState<string>();

  function refuse(says: string): void {
    setError(says);
    // After the field is there: the refusal may be what makes it appear.
    setTimeout(() => input.current?.focus());
  }

  async function give(): Promise<void> {
    if (value === "") throw localFailure("PROOF_REQUIRED", text.needed);
    await call("POST /console/proof", { body: { [method]: value } });
    setIsNeeded(false);
    setValue("");
    setError(undefined);
    // Waited for: what comes next in the dialog may look whether a proof is needed.
    await client.invalidateQueries({ queryKey: meOptions.queryKey });
  }

  async function guard<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      if (isNeeded) await give();
      return await act();
    } catch (caught) {
      if (caught instanceof Failure && isProofFailure(caught)) {
        setIsNeeded(true);
        refuse(caught.message);
      }
      throw caught;
    }
  }

  const Field = method === "password" ? PasswordInput : TextInput;
  const fields = isNeeded && (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {text.lead}
      </Text>
      <Field
        ref={input}
        label={text[method]}
        value={value}
        error={error}
        autoComplete={method === "password" ? "current-password" : "one-time-code"}
        translate="no"
        spellCheck={false}
        {...(method === "password"
          ? { visibilityToggleButtonProps: { "aria-label": words.showPassword } }
          : {})}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      {hasSecondFactor && (
        <Anchor
          component="button"
          type="button"
          size="sm"
          ta="left"
          onClick={() => {
            // A code is shown while it is typed: what was meant as a password must not stand there.
            setValue("");
            setError(undefined);
            setMethod(method === "password" ? "code" : "password");
          }}
        >
          {method === "password" ? text.useCode : text.usePassword}
        </Anchor>
      )}
    </Stack>
  );
  return { fields, guard };
}
