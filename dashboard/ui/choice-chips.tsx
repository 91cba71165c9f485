import { Chip, Group, type GroupProps } from "@mantine/core";

type Props<Choice extends string> = Pick<GroupProps, "mih"> & {
  label: string;
  choices: readonly Choice[];
  chosen: readonly Choice[] | undefined;
  /** Where they are called otherwise than in the API. */
  names?: Record<Choice, string>;
  /** With those that are chosen, in the order of the choices; undefined where there is none. */
  onChange: (chosen: Choice[] | undefined) => void;
};

/** A filter of which several values may be chosen, all in sight. */
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
