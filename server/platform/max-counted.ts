/** Counting a backlog stops here, so that the cost is bounded whatever its size. */
export const MAX_COUNTED = 100_000;
