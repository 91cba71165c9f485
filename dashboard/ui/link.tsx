import { Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { useMergedRef } from "@mantine/hooks";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

/** Mantine's looks with the router's addresses: real links, so that tabs and the keyboard work. */
export const TextLink = createLink(
  (props: AnchorProps & Omit<ComponentProps<"a">, keyof AnchorProps>) => (
    <Anchor inherit {...props} />
  ),
);

type ButtonLinkProps = ButtonProps & Omit<ComponentProps<"a">, keyof ButtonProps>;

export const ButtonLink = createLink(({ autoFocus, ref, ...props }: ButtonLinkProps) => (
  <Button<"a"> component="a" {...props} ref={useMergedRef(ref, autoFocus ? takeFocus : null)} />
));

/** Implements `autoFocus`, which React supports on controls but not on links. */
function takeFocus(link: HTMLAnchorElement | null): void {
  link?.focus();
}
