import { useMediaQuery } from "@mantine/hooks";

/** Below 48 em: navigation is a drawer, and a row of a list is two lines. */
export function useIsPhone(): boolean {
  return useMediaQuery("(max-width: 47.99em)", false, { getInitialValueInEffect: false });
}
