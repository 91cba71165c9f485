import { Drawer, type DrawerProps, Modal, type ModalProps } from "@mantine/core";
import { createContext, use, useEffect, useState } from "react";
import { focusPage } from "./kept-focus.ts";

/** Of the sheet that a dialog was opened from, which must know that it lies under it. */
const TellCovered = createContext<(isCovered: boolean) => void>(() => undefined);

/** A dialog that is there while it is open. When it closes, the focus goes back to what opened it. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  useFocusBack();
  const tellCovered = use(TellCovered);
  useEffect(() => {
    tellCovered(true);
    return () => tellCovered(false);
  }, [tellCovered]);
  return <Modal opened {...props} />;
}

/** The same beside the page. Under a dialog, Esc is the dialog's. */
export function SideSheet({ children, ...props }: Omit<DrawerProps, "opened">) {
  useFocusBack();
  const [isCovered, tellCovered] = useState(false);
  return (
    <Drawer opened position="right" size="xl" closeOnEscape={!isCovered} {...props}>
      <TellCovered value={tellCovered}>{children}</TellCovered>
    </Drawer>
  );
}

/** Mantine's own way needs a dialog that is mounted before it opens; ours are loaded when they do. */
function useFocusBack(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog is gone: its focus trap would take the focus back.
      setTimeout(() => {
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
        focusPage();
      });
    },
    [opener],
  );
}
