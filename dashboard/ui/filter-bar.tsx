import { Button, Collapse, Group, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFilter } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { filterText as text } from "../text/messages.ts";
import { useIsPhone } from "./use-phone.ts";

type Props = {
  /** Always shown. */
  first?: ReactNode;
  /** On a phone, behind a button: the list is what people came for. */
  children: ReactNode;
  /** How many are in force, for the button that hides them. */
  count: number;
  /** Below them; on a phone behind the same button. */
  more?: ReactNode;
  /** At the other end, such as a download; on a phone beside the button. */
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
