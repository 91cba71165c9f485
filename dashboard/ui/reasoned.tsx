import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ComponentProps } from "react";

type Props = ButtonProps &
  Omit<ComponentProps<"button">, keyof ButtonProps> & {
    /** Why this cannot be done now; undefined where it can. */
    reason: string | undefined;
  };

/** A button that, where it may not be pressed, stays focusable and says why. */
export function ReasonedButton({ reason, onClick, ...props }: Props) {
  if (reason === undefined) return <Button {...props} onClick={onClick} />;
  // In the colour of what it would do, it would look as if it could.
  const { c: _, ...plain } = props;
  return (
    <Tooltip label={reason} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
      <Button
        {...plain}
        data-disabled
        aria-disabled
        aria-description={reason}
        onClick={(event) => event.preventDefault()}
      />
    </Tooltip>
  );
}

/** One of the actions of a row or a card: small, and red where it takes something away. */
export function RowButton({ takesAway = false, ...props }: Props & { takesAway?: boolean }) {
  const colour = takesAway ? { c: "var(--mantine-color-error)" } : {};
  return <ReasonedButton variant="default" size="compact-sm" {...colour} {...props} />;
}
