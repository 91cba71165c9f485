/** Gives a text to the browser as a file. It never leaves this machine. */
export function downloadText(name: string, content: string, type = "text/plain"): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
