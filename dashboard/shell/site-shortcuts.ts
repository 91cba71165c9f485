import { useHotkeys } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useDenial } from "../session.ts";
import { hasOpenDialog, stepRow, useShortcuts } from "./shortcuts.ts";

type Overlays = { openPalette: () => void; openShortcuts: () => void };

/** The shortcuts that work on every page. */
export function useSiteShortcuts({ openPalette, openShortcuts }: Overlays): void {
  const navigate = useNavigate();
  const denial = useDenial("developer");
  // Works even while typing, thanks to the modifier. Not over a dialog: one Esc would close both.
  useHotkeys([["mod+K", () => hasOpenDialog() || openPalette()]], []);
  useShortcuts({
    "?": openShortcuts,
    "/": () => focusSearch() || openPalette(),
    j: () => stepRow(1),
    k: () => stepRow(-1),
    "[": () => press("newer"),
    "]": () => press("older"),
    ".": () => press("new-rows"),
    "g o": () => void navigate({ to: "/" }),
    "g m": () => void navigate({ to: "/messages" }),
    "g p": () => void navigate({ to: "/compose" }),
    "g w": () => void navigate({ to: "/webhooks" }),
    "g k": () => void navigate({ to: "/keys" }),
    "g c": () => void navigate({ to: "/credits" }),
    "g t": () => void navigate({ to: "/team" }),
    // That page's button says why it cannot be pressed.
    n: () =>
      void navigate({ to: "/keys", search: denial === undefined ? { dialog: "create" } : {} }),
  });
}

function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>("main input[type=search]");
  search?.focus();
  return search !== null;
}

/** Presses the button on the page that has this shortcut, if any. */
function press(name: string): void {
  document.querySelector<HTMLElement>(`main [data-shortcut="${name}"]`)?.click();
}
