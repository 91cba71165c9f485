import { Button, type ButtonProps } from "@mantine/core";
import { words } from "../text/words.ts";
import { emptyTyped } from "./use-typed.ts";

type Props = ButtonProps & { onClear: () => void };

/** Also what is being typed and has not reached the address: it would come back a moment later. */
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
