import { Paper, Stack, Table, Text, Title } from "@mantine/core";
import { teamText as text } from "../../text/team.ts";
import { useIsPhone } from "../../ui/use-phone.ts";
import { ROLES } from "../../vocabulary.ts";

const RIGHT_WORDS: Record<string, string> = { yes: text.yes, "": text.no, masked: text.masked };

export function Roles() {
  const isPhone = useIsPhone();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {text.rolesTitle}
      </Title>
      <Paper withBorder>
        <Table
          fz={isPhone ? "xs" : "sm"}
          horizontalSpacing={isPhone ? 6 : "xs"}
          verticalSpacing="sm"
        >
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col" c="dimmed" fw={550} fz="xs">
                {text.rolesColumns.may}
              </Table.Th>
              {ROLES.map((role) => (
                <Table.Th key={role} scope="col" c="dimmed" fw={550} fz="xs">
                  {text.roles[role]}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {text.rights.map(([right, ...cells]) => (
              <Table.Tr key={right}>
                <Table.Th scope="row" fw={400}>
                  {right}
                </Table.Th>
                {cells.map((cell, index) => (
                  <Table.Td key={ROLES[index]}>{RIGHT_WORDS[cell]}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
      <Text size="xs" c="dimmed">
        {text.maskedHint}
      </Text>
    </Stack>
  );
}
