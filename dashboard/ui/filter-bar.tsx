import { Button, Collapse, Group, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFilter } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { filterText as text } from "../text/messages.ts";
import { useIsPhone } from "./use-phone.ts";

type Props = {
  /** Always visible. */
  first?: ReactNode;
  /** On a phone, hidden behind a button: people come for the list. */
  children: ReactNode;
  /** How many filters apply, for the button that hides them. */
  count: number;
  /** Below the filters; on a phone, behind the same button. */
  more?: ReactNode;
  /** At the other end, such as a download; on a phone, beside the button. */
  last?: ReactNode;
};

export function FilterBar({ first, children, count, more, last }: Props) {
  const isPhone = useIsPhone();
  const [isOpen, filters] = useDisclosure(false);
  if (!isPhone) {
    return (
      <>
        <Group justify="space-between" align="flex-end">
          <Group gap="sm" align="flex-start">
            {first}
            {children}
          </Group>
          {last}
        </Group>
        {more}
      </>
    );
  }
  return (
    <Stack gap="sm">
      {first}
      <Group justify="space-between">
        <Button
          variant="default"
          leftSection={<IconFilter size={16} aria-hidden />}
          aria-expanded={isOpen}
          onClick={filters.toggle}
        >
          {text.filters(count)}
        </Button>
        {last}
      </Group>
      <Collapse expanded={isOpen}>
        <Stack gap="sm">
          {children}
          {more}
        </Stack>
      </Collapse>
    </Stack>
  );
}
