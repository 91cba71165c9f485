import { useState } from "react";

/** Whether it is another than when the component was last drawn: for what follows the address. */
export function useIsAnother(value: string | undefined): boolean {
  const [before, setBefore] = useState(value);
  if (before === value) return false;
  setBefore(value);
  return true;
}
