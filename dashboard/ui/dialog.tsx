import { Drawer, type DrawerProps, Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/** A dialog that is there while it is open. When it closes, the focus goes back to what opened it. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  useFocusBack();
  return <Modal opened {...props} />;
}

/** The same beside the page. */
export function SideSheet(props: Omit<DrawerProps, "opened">) {
  useFocusBack();
  return <Drawer opened position="right" size="xl" {...props} />;
}

/** Mantine's own way needs a dialog that is mounted before it opens; ours are loaded when they do. */
function useFocusBack(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog is gone: its focus trap would take the focus back.
      setTimeout(() => {
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
    },
    [opener],
  );
}
