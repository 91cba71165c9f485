import { Drawer, type DrawerProps, Modal, type ModalProps } from "@mantine/core";
import { createContext, use, useEffect, useState } from "react";
import { focusPage } from "./kept-focus.ts";

/** Tells a sheet that a dialog was opened above it. */
const TellCovered = createContext<(isCovered: boolean) => void>(() => undefined);

/** A dialog that is mounted only while open. On closing, the focus returns to what opened it. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  useFocusBack();
  const tellCovered = use(TellCovered);
  useEffect(() => {
    tellCovered(true);
    return () => tellCovered(false);
  }, [tellCovered]);
  return <Modal opened {...props} />;
}

/** The same at the side of the page. Under a dialog, Esc closes only the dialog. */
export function SideSheet({ children, ...props }: Omit<DrawerProps, "opened">) {
  useFocusBack();
  const [isCovered, tellCovered] = useState(false);
  return (
    <Drawer opened position="right" size="xl" closeOnEscape={!isCovered} {...props}>
      <TellCovered value={tellCovered}>{children}</TellCovered>
    </Drawer>
  );
}

/** Mantine's way needs a dialog mounted before it opens; ours are loaded on opening. */
function useFocusBack(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Only once the dialog is gone: its focus trap would take the focus back.
      setTimeout(() => {
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
        focusPage();
      });
    },
    [opener],
  );
}
