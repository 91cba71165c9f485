/** Copies on https, localhost and plain http, and reports success. Moves no focus, for dialogs. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Missing on plain http, despite its type.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard) {
      await clipboard.writeText(text);
      return true;
    }
  } catch {
    // The browser refused; the older way may still work.
  }
  return copyByEvent(text);
}

function copyByEvent(text: string): boolean {
  let wrote = false;
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    wrote = true;
  };
  document.addEventListener("copy", put, true);
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- the only way without a secure context
    document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", put, true);
  }
  return wrote;
}

export function selectContent(element: Element | null): void {
  if (!element) return;
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}
