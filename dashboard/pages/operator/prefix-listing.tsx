import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { routingText as text } from "../../text/operator.ts";
import { type Column, Listing } from "../../ui/listing.tsx";
import type { Read } from "../../use-read.ts";
import { type Keyed, prefixName } from "./prefix.tsx";

type ListProps<Row> = {
  label: string;
  list: Read<{ data: Row[] }>;
  /** The column of what is set for the prefix. */
  column: Column<Row>;
  /** The same in words, if there is no room for a table. */
  says: (row: Row) => string;
  actions: (row: Row) => ReactNode;
  /** What applies to all other numbers while no default is set. */
  others: string;
  empty: ReactNode;
};

export function PrefixListing<Row extends Keyed>(props: ListProps<Row>) {
  const { column, says, actions, others, ...listing } = props;
  const rows = listing.list.data?.data ?? [];
  return (
    <>
      {rows.length > 0 && rows.every(({ prefix }) => prefix !== "") && (
        <Text size="sm" c="dimmed">
          {others}
        </Text>
      )}
      <Listing
        {...listing}
        columns={[
          { name: "prefix", header: text.prefix, cell: ({ prefix }) => prefixName(prefix) },
          column,
          { name: "actions", header: text.actions, cell: actions },
        ]}
        rowId={({ prefix }) => `prefix ${prefix}`}
        compact={(row) => (
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Stack gap={0} miw={0}>
              <Text span size="sm" fw={550}>
                {prefixName(row.prefix)}
              </Text>
              <Text span size="sm" c="dimmed">
                {says(row)}
              </Text>
            </Stack>
            {actions(row)}
          </Group>
        )}
      />
    </>
  );
}
