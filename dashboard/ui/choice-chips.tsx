import { Chip, Group, type GroupProps } from "@mantine/core";

type Props<Choice extends string> = Pick<GroupProps, "mih"> & {
  label: string;
  choices: readonly Choice[];
  chosen: readonly Choice[] | undefined;
  /** Labels for choices whose name differs from the API's. */
  names?: Record<Choice, string>;
  /** Gets the chosen values in the order of the choices; undefined if there are none. */
  onChange: (chosen: Choice[] | undefined) => void;
};

/** A filter of which several values may be chosen, all of them visible. */
export function ChoiceChips<Choice extends string>(props: Props<Choice>) {
  const { label, choices, chosen = [], names, onChange, ...rest } = props;
  return (
    <Chip.Group
      multiple
      value={[...chosen]}
      onChange={(values) => {
        const next = choices.filter((choice) => values.includes(choice));
        onChange(next.length > 0 ? next : undefined);
      }}
    >
      <Group gap="xs" role="group" aria-label={label} {...rest}>
        {choices.map((choice) => (
          <Chip key={choice} value={choice} size="xs" variant="outline">
            {names ? names[choice] : choice}
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}
