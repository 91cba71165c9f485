import { useEffect } from "react";

const LAYER = "#main, [role=dialog]";

/** If nothing has the focus, gives it to the open dialog or else to the page. */
export function focusPage(): void {
  if (document.activeElement !== document.body) return;
  // In the document, dialogs come after the page, the topmost one last.
  const uppermost = [...document.querySelectorAll<HTMLElement>(LAYER)].at(-1);
  uppermost?.focus({ preventScroll: true });
}

/**
 * Keeps the focus when using a control removes it, such as the × of a filter: on `<body>`, a screen
 * reader would lose its place. A closing dialog returns the focus by itself.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let had: { element: Element; layer: Element | null } | undefined;
    function onFocus({ target }: FocusEvent): void {
      if (target instanceof Element) had = { element: target, layer: target.closest(LAYER) };
    }
    /** Some browsers also blur a removed element, a moment before it is gone. */
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
