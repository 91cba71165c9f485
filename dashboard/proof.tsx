import { Anchor, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { call } from "./api.ts";
import { nowMs } from "./clock.ts";
import { Failure, isProofFailure, localFailure } from "./failure.ts";
import { meOptions, useMe } from "./session.ts";
import { proofText as text } from "./text/proof.ts";
import { words } from "./text/words.ts";

/** A proof about to expire is asked for when the form opens, not after a refusal. */
const MARGIN_MS = 60_000;

type Method = "password" | "code";

export type Proof = {
  /** The fields to show in the dialog; nothing while the last proof is valid. */
  fields: ReactNode;
  /** First gives the proof if one is needed, then acts. */
  guard: <Result>(act: () => Promise<Result>) => Promise<Result>;
};

/** Asks for a password or code within a dialog if the last proof is older than 10 minutes. */
export function useProof(): Proof {
  const { provenUntil, hasSecondFactor } = useMe();
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [isNeeded, setIsNeeded] = useState(() => Date.parse(provenUntil) < nowMs() + MARGIN_MS);
  const [method, setMethod] = useState<Method>("password");
  const [value, setValue] = useState("");
  const [error, setError] = useState<string>();

  function refuse(says: string): void {
    setError(says);
    // Only after rendering: the refusal may be what makes the field appear.
    setTimeout(() => input.current?.focus());
  }

  async function give(): Promise<void> {
    if (value === "") throw localFailure("PROOF_REQUIRED", text.needed);
    await call("POST /console/proof", { body: { [method]: value } });
    setIsNeeded(false);
    setValue("");
    setError(undefined);
    // Awaited, as the next step of the dialog may check whether a proof is needed.
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
        // Where it opens with a dialog, and nothing comes before it.
        data-autofocus
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
            // Codes are shown as typed: what was meant as a password must not become visible.
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
