import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import { formatNumber } from "../format.ts";
import { words } from "../text/words.ts";

/** More are shown as this number and a plus. */
const MOST = 99;

/** How many new rows are not shown yet, and a button to show them. */
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
