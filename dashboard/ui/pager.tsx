import { Button, Group, NativeSelect } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { LIMITS, type Limit, type PageSearch } from "../search.ts";
import { words } from "../text/words.ts";

type Page = { nextCursor: string | null; previousCursor: string | null; data: unknown[] };

type Props = {
  list: { data: Page | undefined; isStale: boolean };
  search: PageSearch;
  /** Tells it from the pager of another list on the page. */
  label?: string;
  onTurn: (turn: { cursor: string | undefined; limit: Limit | undefined }) => void;
};

/** Newer and older, by cursor; there is no total, as it would have to be counted or guessed. */
export function Pager({
  list: { data: page, isStale },
  search,
  label = words.pages,
  onTurn,
}: Props) {
  if (!page) return null;
  const isOnlyOne = page.nextCursor === null && page.previousCursor === null;
  if (isOnlyOne && page.data.length <= 25) return null;
  // The cursors belong to another page or other filters, so the server would refuse them.
  const { nextCursor, previousCursor } = isStale ? NO_CURSORS : page;
  const turn = (cursor: string | null) =>
    cursor !== null && onTurn({ cursor, limit: search.limit });
  return (
    <Group component="nav" aria-label={label} justify="space-between" gap="sm">
      <Group gap="xs">
        <Button
          variant="default"
          size="sm"
          data-shortcut="newer"
          {...endOf(previousCursor)}
          leftSection={<IconChevronLeft size={16} aria-hidden />}
          onClick={() => turn(previousCursor)}
        >
          {words.newer}
        </Button>
        <Button
          variant="default"
          size="sm"
          data-shortcut="older"
          {...endOf(nextCursor)}
          rightSection={<IconChevronRight size={16} aria-hidden />}
          onClick={() => turn(nextCursor)}
        >
          {words.older}
        </Button>
      </Group>
      <NativeSelect
        aria-label={words.rowsPerPage}
        value={search.limit ?? "25"}
        data={LIMITS.map((value) => ({ value, label: words.rows(value) }))}
        onChange={(event) => {
          const limit = event.currentTarget.value as Limit;
          onTurn({ cursor: undefined, limit: limit === "25" ? undefined : limit });
        }}
      />
    </Group>
  );
}

const NO_CURSORS = { nextCursor: null, previousCursor: null };

/** At either end the button stays focusable, so that the last page does not lose the focus. */
function endOf(cursor: string | null) {
  return cursor === null ? { "data-disabled": true, "aria-disabled": true } : {};
}
