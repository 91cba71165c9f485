import { shellText } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { Navigation } from "./navigation.tsx";
import { SideSheet } from "../ui/dialog.tsx";

/** The navigation on a phone. */
export default function NavigationDrawer({ onClose }: { onClose: () => void }) {
  return (
    <SideSheet onClose={onClose} title={words.product} position="left" size={280}>
      <nav aria-label={shellText.navigation}>
        <Navigation onChosen={onClose} />
      </nav>
    </SideSheet>
  );
}
