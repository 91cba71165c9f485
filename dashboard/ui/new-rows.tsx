import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import { formatNumber } from "../format.ts";
import { words } from "../text/words.ts";

type Props = {
  count: number;
  /** There are more than were counted. */
  hasMore: boolean;
  onShow: () => void;
};

/** How many rows have come that are not shown, and the way to see them. */
export function NewRows({ count, hasMore, onShow }: Props) {
  if (count === 0) return null;
  const shown = formatNumber(count) + (hasMore ? "+" : "");
  return (
    <Button
      size="compact-sm"
      radius="xl"
      data-shortcut="new-rows"
      leftSection={<IconArrowUp size={14} aria-hidden />}
      aria-label={words.showNew(shown)}
      onClick={onShow}
    >
      {words.newRows(shown)}
    </Button>
  );
}
