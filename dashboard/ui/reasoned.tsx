import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { LinkProps } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { ButtonLink } from "./link.tsx";

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

type ReasonedLinkProps = ButtonProps &
  Pick<Props, "reason" | "children"> & {
    link: LinkProps;
  };

/** A link to where something is done; where that may not be, a button that says why. */
export function ReasonedLink({ reason, link, ...props }: ReasonedLinkProps) {
  if (reason !== undefined) return <ReasonedButton reason={reason} {...props} />;
  return <ButtonLink {...link} {...props} />;
}

type RowButtonProps = Omit<Props, "reason"> &
  Partial<Pick<Props, "reason">> & {
    takesAway?: boolean;
  };

/** One of the actions of a row or a card: small, and red where it takes something away. */
export function RowButton({ takesAway = false, reason, ...props }: RowButtonProps) {
  const colour = takesAway ? { c: "var(--mantine-color-error)" } : {};
  return (
    <ReasonedButton reason={reason} variant="default" size="compact-sm" {...colour} {...props} />
  );
}
