import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { LinkProps } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { ButtonLink } from "./link.tsx";

type Props = ButtonProps &
  Omit<ComponentProps<"button">, keyof ButtonProps> & {
    /** Why this cannot be done now; undefined if it can. */
    reason: string | undefined;
  };

/** A button that, if disabled, stays focusable and says why. */
export function ReasonedButton({ reason, onClick, ...props }: Props) {
  if (reason === undefined) return <Button {...props} onClick={onClick} />;
  // In its usual colour it would look enabled.
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

/** A link to where something is done; if it is not allowed, a button that says why. */
export function ReasonedLink({ reason, link, ...props }: ReasonedLinkProps) {
  if (reason !== undefined) return <ReasonedButton reason={reason} {...props} />;
  return <ButtonLink {...link} {...props} />;
}

type RowButtonProps = Omit<Props, "reason"> &
  Partial<Pick<Props, "reason">> & {
    takesAway?: boolean;
  };

/** An action of a row or card: small, and red if it removes something. */
export function RowButton({ takesAway = false, reason, ...props }: RowButtonProps) {
  const colour = takesAway ? { c: "var(--mantine-color-error)" } : {};
  return (
    <ReasonedButton reason={reason} variant="default" size="compact-sm" {...colour} {...props} />
  );
}
