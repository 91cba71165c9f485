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
};

export function FilterBar({ first, children }: Props) {
  const isPhone = useIsPhone();
  const [isOpen, filters] = useDisclosure(false);
  if (!isPhone) {
    return (
      <Group gap="sm" align="flex-start">
        {first}
        {children}
      </Group>
    );
  }
  return (
    <Stack gap="sm">
      {first}
      <Group>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconFilter size={14} aria-hidden />}
          aria-expanded={isOpen}
          onClick={filters.toggle}
        >
          {text.filters}
        </Button>
      </Group>
      <Collapse expanded={isOpen}>
        <Stack gap="sm">{children}</Stack>
      </Collapse>
    </Stack>
  );
}
