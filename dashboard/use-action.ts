import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { type Failure, toFailure } from "./failure.ts";
import { goToSignIn } from "./session.ts";

export type Outcome<Result> = { ok: true; result: Result } | { ok: false; failure: Failure };

export type Action<Input, Result> = {
  run: (input: Input) => Promise<Outcome<Result> | undefined>;
  isRunning: boolean;
  failure: Failure | undefined;
  reset: () => void;
};

/**
 * Something a person does. Pressed twice, it runs once. Its result is kept nowhere, so a secret in it
 * is gone with the component that shows it.
 */
export function useAction<Input, Result>(
  act: (input: Input) => Promise<Result>,
): Action<Input, Result> {
  const router = useRouter();
  const running = useRef(false);
  const focused = useRef<Element | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  const [failure, setFailure] = useState<Failure>();

  // A button that shows progress is disabled, and a browser takes the focus from what is disabled.
  useEffect(() => {
    if (isRunning || document.activeElement !== document.body) return;
    if (focused.current instanceof HTMLElement) focused.current.focus({ preventScroll: true });
  }, [isRunning]);

  async function run(input: Input): Promise<Outcome<Result> | undefined> {
    if (running.current) return undefined;
    running.current = true;
    focused.current = document.activeElement;
    setIsRunning(true);
    setFailure(undefined);
    try {
      return { ok: true, result: await act(input) };
    } catch (error) {
      const found = toFailure(error);
      // It was refused, so it made nothing that would have to be kept.
      if (found.code === "SESSION_REQUIRED") goToSignIn(router);
      setFailure(found);
      return { ok: false, failure: found };
    } finally {
      running.current = false;
      setIsRunning(false);
    }
  }
  return { run, isRunning, failure, reset: () => setFailure(undefined) };
}
