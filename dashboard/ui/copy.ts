/** Copies on https, localhost and plain-http hosts alike; says whether it worked. Moves no focus, so it works inside a dialog. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Missing on plain http, whatever its type says.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard) {
      await clipboard.writeText(text);
      return true;
    }
  } catch {
    // Refused by the browser: the older way may still be open.
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
