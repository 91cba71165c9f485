import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { type Failure, toFailure } from "./failure.ts";
import { whenFree } from "./held-page.ts";
import { goToSignIn } from "./session.ts";

export type Outcome<Result> = { ok: true; result: Result } | { ok: false; failure: Failure };

export type Action<Input, Result> = {
  run: (input: Input) => Promise<Outcome<Result> | undefined>;
  isRunning: boolean;
  failure: Failure | undefined;
};

/**
 * Something that a person does. Pressing twice runs it once. The result is not cached, so a secret
 * in it is gone with the component. If the person has closed that component or left the page when
 * the answer comes, `run` returns nothing and `onDone` is not called, as it would close or leave
 * what is open now. So put what must always follow into `act`.
 */
export function useAction<Input, Result>(
  act: (input: Input) => Promise<Result>,
  onDone?: (result: Result) => void,
): Action<Input, Result> {
  const router = useRouter();
  const running = useRef(false);
  const focused = useRef<Element | null>(null);
  const isMounted = useRef(false);
  useEffect(() => {
    isMounted.current = true;
    return () => void (isMounted.current = false);
  }, []);
  const [isRunning, setIsRunning] = useState(false);
  const [failure, setFailure] = useState<Failure>();

  // A button that shows progress is disabled, and the browser takes its focus away.
  useEffect(() => {
    if (isRunning || document.activeElement !== document.body) return;
    if (focused.current instanceof HTMLElement) focused.current.focus({ preventScroll: true });
  }, [isRunning]);

  async function run(input: Input): Promise<Outcome<Result> | undefined> {
    const outcome = await attempt(input);
    if (outcome?.ok) onDone?.(outcome.result);
    return outcome;
  }

  async function attempt(input: Input): Promise<Outcome<Result> | undefined> {
    if (running.current) return undefined;
    running.current = true;
    focused.current = document.activeElement;
    setIsRunning(true);
    setFailure(undefined);
    const { pathname } = router.latestLocation;
    // The page that is being left stays mounted until the next one has loaded.
    const isHere = () => isMounted.current && router.latestLocation.pathname === pathname;
    try {
      const result = await act(input);
      return isHere() ? { ok: true, result } : undefined;
    } catch (error) {
      const found = toFailure(error);
      if (found.code === "SESSION_REQUIRED") whenFree(() => goToSignIn(router));
      setFailure(found);
      return isHere() ? { ok: false, failure: found } : undefined;
    } finally {
      running.current = false;
      setIsRunning(false);
    }
  }
  return { run, isRunning, failure };
}
