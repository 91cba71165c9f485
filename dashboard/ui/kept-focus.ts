import { useEffect } from "react";

const LAYER = "#main, [role=dialog]";

/** Where the focus goes when nothing has it: to the dialog that is open, else to the page. */
export function focusPage(): void {
  if (document.activeElement !== document.body) return;
  // Dialogs stand behind the page in the document, the uppermost last.
  const uppermost = [...document.querySelectorAll<HTMLElement>(LAYER)].at(-1);
  uppermost?.focus({ preventScroll: true });
}

/**
 * Keeps the focus when a control goes away by what it does, such as the × of a filter: on `<body>` a
 * screen reader would be nowhere. A dialog that closes gives it back by itself.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let had: { element: Element; layer: Element | null } | undefined;
    function onFocus({ target }: FocusEvent): void {
      if (target instanceof Element) had = { element: target, layer: target.closest(LAYER) };
    }
    /** Some browsers also tell it of what is removed, a moment before. */
    function onBlur({ target }: FocusEvent): void {
      queueMicrotask(() => {
        if (had?.element === target && had.element.isConnected) had = undefined;
      });
    }
    const observer = new MutationObserver(() => {
      if (!had || had.element.isConnected) return;
      if (had.layer?.isConnected !== false) focusPage();
      had = undefined;
    });
    addEventListener("focusin", onFocus);
    addEventListener("focusout", onBlur);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      removeEventListener("focusin", onFocus);
      removeEventListener("focusout", onBlur);
      observer.disconnect();
    };
  }, []);
}
