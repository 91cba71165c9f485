import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import { formatNumber } from "../format.ts";
import { words } from "../text/words.ts";

/** More are told as that many and a plus. */
const MOST = 99;

/** How many rows have come that are not shown, and the way to see them. */
export function NewRows({ count, onShow }: { count: number; onShow: () => void }) {
  if (count === 0) return null;
  const shown = formatNumber(Math.min(count, MOST)) + (count > MOST ? "+" : "");
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
