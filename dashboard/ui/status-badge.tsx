import { Badge } from "@mantine/core";
import type { Status } from "#contract";
import { STATUS_COLOR } from "../theme.ts";

/** Shape, colour and word: never colour alone. */
export function StatusBadge({ status }: { status: Status }) {
  return (
    <Badge variant="dot" color={STATUS_COLOR[status]}>
      {status}
    </Badge>
  );
}
