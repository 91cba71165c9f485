import { Button, type ButtonProps } from "@mantine/core";
import { words } from "../text/words.ts";
import { emptyTyped } from "./use-typed.ts";

type Props = ButtonProps & { onClear: () => void };

/** Also clears text that has not reached the address yet, or it would return a moment later. */
export function ClearFilters({ onClear, variant = "default", ...rest }: Props) {
  return (
    <Button
      {...rest}
      variant={variant}
      onClick={() => {
        emptyTyped();
        onClear();
      }}
    >
      {words.clearFilters}
    </Button>
  );
}
