import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { words } from "../text/words.ts";
import { useTyped } from "./use-typed.ts";

type Props = {
  label: string;
  value: string | undefined;
  onTyped: (read: string | undefined) => void;
  /** The longest text that the service accepts here. */
  maxLength?: number;
  /** Extracts the part that filters; by default, all but surrounding spaces. */
  read?: (typed: string) => string | undefined;
  /** The width; on a phone it is as wide as the page. */
  width?: number;
  isSearch?: boolean;
  example?: string;
};

export function TypedFilter(props: Props) {
  const { label, value, onTyped, maxLength = 60, width = 220, isSearch = false, example } = props;
  const { read = (text) => text.trim() || undefined } = props;
  const [typed, type] = useTyped({ value, read, onTyped: (text) => onTyped(read(text)) });
  return (
    <TextInput
      label={label}
      w={{ base: "100%", sm: width }}
      type={isSearch ? "search" : "text"}
      placeholder={example ?? (isSearch ? undefined : words.any)}
      leftSection={isSearch && <IconSearch size={16} aria-hidden />}
      value={typed}
      maxLength={maxLength}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}
