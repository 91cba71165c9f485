import { Alert, Container, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { IconLockOpen } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { words } from "../text/words.ts";

type Props = { title: string; lead?: ReactNode; children: ReactNode };

/** A page for people who are not signed in: one centered card. */
export function PublicPage({ title, lead, children }: Props) {
  useDocumentTitle(`${title} · ${words.product}`);
  return (
    <Container size={460} py="xl" component="main">
      <Group gap="xs" mb="lg" mt="md">
        <img src="/favicon.svg" alt="" width={32} height={32} />
        <Text fw={700} size="lg">
          {words.product}
        </Text>
      </Group>
      <Paper withBorder p={{ base: "md", xs: "xl" }}>
        <Stack gap="md">
          <div>
            <Title order={1} size="h3">
              {title}
            </Title>
            {lead && (
              <Text c="dimmed" mt={4}>
                {lead}
              </Text>
            )}
          </div>
          <PlainHttpWarning />
          {children}
        </Stack>
      </Paper>
    </Container>
  );
}

/** Passwords travel in the clear: the operator should know, and how to fix it. */
function PlainHttpWarning() {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  if (location.protocol === "https:" || isLocal) return null;
  return (
    <Alert
      color="yellow"
      variant="outline"
      icon={<IconLockOpen aria-hidden />}
      title={words.plainHttp}
    >
      <Text size="sm">{words.plainHttpFix}</Text>
    </Alert>
  );
}
