import { Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { zoneName } from "../format.ts";
import { words } from "../text/words.ts";
import classes from "./page.module.css";
import { useZone } from "./zone.tsx";

type Props = {
  title: string;
  /** Goes into the tab's title: the name of the account, or of the open part. */
  about?: string | undefined;
  lead?: ReactNode;
  /** If set, the page says which zone its times are in. */
  hasTimes?: boolean;
  actions?: ReactNode;
  children: ReactNode;
};

/** A page: its one heading, its purpose, its actions, and the rest. */
export function Page({ title, about, lead, hasTimes = false, actions, children }: Props) {
  const zone = useZone();
  useDocumentTitle([title, about, words.product].filter(Boolean).join(" · "));
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div className={classes["head"]}>
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead && (
            <Text className={classes["lead"]} c="dimmed" mt={4} maw="46rem">
              {lead}
            </Text>
          )}
          {hasTimes && (
            <Text size="sm" c="dimmed" mt={4}>
              {words.timesIn(zoneName(zone))}
            </Text>
          )}
        </div>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
