import { useState } from "react";

/** Whether the value has changed since the last render: for state that follows the address. */
export function useIsAnother(value: string | undefined): boolean {
  const [before, setBefore] = useState(value);
  if (before === value) return false;
  setBefore(value);
  return true;
}
