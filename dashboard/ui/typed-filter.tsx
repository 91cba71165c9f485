import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";

type Props = {
  label: string;
  value: string | undefined;
  onTyped: (typed: string | undefined) => void;
  /** On a phone it is as wide as the page. */
  width?: number;
  isSearch?: boolean;
  example?: string;
};

const TYPING_MS = 400;

/** A filter that one types: applied a moment after the last key, and following the address. */
export function TypedFilter(props: Props) {
  const { label, value, onTyped, width = 220, isSearch = false, example } = props;
  const [typed, setTyped] = useState(value ?? "");
  const [before, setBefore] = useState(value);
  if (before !== value) {
    setBefore(value);
    setTyped(value ?? "");
  }
  const apply = useDebouncedCallback(
    (text: string) => onTyped(text.trim() || undefined),
    TYPING_MS,
  );
  return (
    <TextInput
      label={label}
      w={{ base: "100%", sm: width }}
      type={isSearch ? "search" : "text"}
      placeholder={example}
      leftSection={isSearch && <IconSearch size={16} aria-hidden />}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        apply(event.currentTarget.value);
      }}
    />
  );
}
