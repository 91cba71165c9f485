import { Badge, Stack, Text } from "@mantine/core";

type Props = {
  name: string;
  email: string;
  /** What distinguishes this person from the others. */
  mark?: string | undefined;
};

export function Person({ name, email, mark }: Props) {
  return (
    <Stack gap={0} miw={0}>
      <Text span size="sm" fw={550}>
        {name}{" "}
        {mark && (
          <Badge variant="outline" size="xs" color="gray" c="dimmed">
            {mark}
          </Badge>
        )}
      </Text>
      <Text span size="xs" c="dimmed">
        {email}
      </Text>
    </Stack>
  );
}
