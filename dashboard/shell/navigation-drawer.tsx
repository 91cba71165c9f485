import { Drawer } from "@mantine/core";
import { shellText } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { Navigation } from "./navigation.tsx";

/** The navigation of a phone. */
export default function NavigationDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Drawer opened onClose={onClose} title={words.product} size={280}>
      <nav aria-label={shellText.navigation}>
        <Navigation onChosen={onClose} />
      </nav>
    </Drawer>
  );
}
