/** An error's message, without kind and stack. If several addresses failed, all messages. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a Node error, or else its message: enough to look it up. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : messageOf(error);
}
