import { Kbd, SimpleGrid, Table, Text, Title } from "@mantine/core";
import { useMe } from "../session.ts";
import { shortcutsText as text } from "../text/palette.ts";
import { Dialog } from "../ui/dialog.tsx";

export default function ShortcutList({ onClose }: { onClose: () => void }) {
  const { preferences } = useMe();
  return (
    <Dialog onClose={onClose} title={text.title} size="lg">
      {!preferences.shortcuts && (
        <Text size="sm" c="dimmed" mb="md">
          {text.off}
        </Text>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {Object.entries(text.groups).map(([group, shortcuts]) => (
          <div key={group}>
            <Title order={2} size="h6" mb="xs">
              {group}
            </Title>
            <Table withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} fz="sm">
              <Table.Tbody>
                {shortcuts.map(([keys, does]) => (
                  <Table.Tr key={keys}>
                    <Table.Th scope="row" w={90}>
                      {keys.split(" ").map((each) => (
                        <Kbd key={each} mr={4}>
                          {each}
                        </Kbd>
                      ))}
                    </Table.Th>
                    <Table.Td>{does}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        ))}
      </SimpleGrid>
    </Dialog>
  );
}
