import { Group, Pill } from "@mantine/core";
import { filterText as text } from "../text/messages.ts";
import { ClearFilters } from "./clear-filters.tsx";

export type ActiveFilter = { name: string; label: string; onRemove: () => void };

/** The filters that have a value, each with a way to remove it from the address. */
export function activeFilters<Search>(
  parts: [name: string, value: string | undefined, without: Partial<Search>][],
  onChange: (change: Partial<Search>) => void,
): ActiveFilter[] {
  return parts.flatMap(([name, value, without]) =>
    value === undefined
      ? []
      : [{ name, label: `${name}: ${value}`, onRemove: () => onChange(without) }],
  );
}

/** The filters that apply, each with a button to remove it. */
export function FilterPills({
  filters,
  onClear,
}: {
  filters: ActiveFilter[];
  onClear: () => void;
}) {
  if (filters.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label={text.active}>
      {filters.map(({ name, label, onRemove }) => (
        <Pill
          key={name}
          size="md"
          bg="var(--posthorn-pill)"
          withRemoveButton
          onRemove={onRemove}
          removeButtonProps={{
            "aria-label": text.remove(label),
            "aria-hidden": false,
            tabIndex: 0,
            size: 24,
          }}
        >
          {label}
        </Pill>
      ))}
      <ClearFilters variant="subtle" size="compact-sm" onClear={onClear} />
    </Group>
  );
}
