import { Button, Group, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { words } from "../text/words.ts";

/** Downloads what a list shows. The server limits a file's rows; the file does not say so. */
export function CsvButton({ address }: { address: () => string }) {
  return (
    <Group gap="xs">
      <Text span size="xs" c="dimmed">
        {words.csvLimit}
      </Text>
      <Button
        component="a"
        href={address()}
        // Set on click: a range such as the last hour counts from now.
        onClick={({ currentTarget }) => (currentTarget.href = address())}
        download
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
      >
        {words.downloadCsv}
      </Button>
    </Group>
  );
}
