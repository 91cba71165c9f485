import { useMediaQuery } from "@mantine/hooks";

/** Below 48 em, the navigation is a drawer. */
export function useIsPhone(): boolean {
  return useIsBelow(48);
}

/** Below 64 em, there is no room for a table beside the navigation: list rows take two lines. */
export function useIsSmall(): boolean {
  return useIsBelow(64);
}

function useIsBelow(em: number): boolean {
  return useMediaQuery(`(max-width: ${em - 0.01}em)`, false, { getInitialValueInEffect: false });
}
