import { Button, Group, NativeSelect } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { LIMITS, type Limit, type PageSearch } from "../search.ts";
import { words } from "../text/words.ts";

type Page = { nextCursor: string | null; previousCursor: string | null; data: unknown[] };

type Props = {
  list: { data: Page | undefined; isStale: boolean };
  search: PageSearch;
  /** Tells it from that of another list on the page. */
  label?: string;
  onTurn: (turn: { cursor: string | undefined; limit: Limit | undefined }) => void;
};

/** Newer and older, by cursor; a total would have to be counted or made up. */
export function Pager({
  list: { data: page, isStale },
  search,
  label = words.pages,
  onTurn,
}: Props) {
  if (!page) return null;
  const isOnlyOne = page.nextCursor === null && page.previousCursor === null;
  if (isOnlyOne && page.data.length <= 25) return null;
  // Of another page, or of other filters: then they would be refused.
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

/** At an end the button stays focusable: the focus must not be lost with the last page. */
function endOf(cursor: string | null) {
  return cursor === null ? { "data-disabled": true, "aria-disabled": true } : {};
}
