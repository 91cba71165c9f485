import { Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { present } from "../../search.ts";
import { operatorText as text } from "../../text/operator.ts";
import { ClearFilters } from "../../ui/clear-filters.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Listing, type ListingProps } from "../../ui/listing.tsx";
import { Pager } from "../../ui/pager.tsx";
import { TypedFilter } from "../../ui/typed-filter.tsx";
import { useCursorFallback } from "../../ui/use-cursor-fallback.ts";
import type { Read } from "../../use-read.ts";
import type { QuerySearch } from "./search.ts";

type Found<Row> = { data: Row[]; nextCursor: string | null; previousCursor: string | null };

type Props<Row> = Pick<ListingProps<Row>, "label" | "columns" | "rowId" | "compact"> & {
  found: Read<Found<Row>>;
  search: QuerySearch;
  onSearch: (search: QuerySearch, options?: { replace: boolean }) => void;
  /** Stands for the kind of thing listed; shown if nothing matches. */
  icon: ReactNode;
  /** Shown beside the search. */
  action?: ReactNode;
};

/** A paged list of the whole installation with a search field. */
export function SearchedListing<Row>(props: Props<Row>) {
  const { found, search, onSearch, icon, action } = props;
  const searchAnew = (q: string | undefined) => onSearch(present({ q }), { replace: true });
  useCursorFallback(found.failure, () => searchAnew(search.q));
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <TypedFilter isSearch label={text.search} value={search.q} onTyped={searchAnew} />
        {action}
      </Group>
      <Listing
        {...props}
        list={found}
        empty={
          <Empty icon={icon} title={text.noMatch} description={text.noMatchHint}>
            <ClearFilters onClear={() => onSearch({})} />
          </Empty>
        }
      />
      <Pager
        list={found}
        search={search}
        onTurn={(turn) => onSearch(present({ ...search, ...turn }))}
      />
    </Stack>
  );
}
