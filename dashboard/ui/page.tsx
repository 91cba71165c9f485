import { Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { words } from "../text/words.ts";

type Props = {
  title: string;
  /** Of the account, for the title of the tab. */
  account?: string | undefined;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
};

/** A page: its one heading, what it is for, what can be done, and the rest. */
export function Page({ title, account, lead, actions, children }: Props) {
  useDocumentTitle([title, account, words.product].filter(Boolean).join(" · "));
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead && (
            <Text c="dimmed" mt={4} maw="46rem">
              {lead}
            </Text>
          )}
        </div>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
