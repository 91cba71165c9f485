import { Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

/** Mantine's looks with the router's addresses: real links, so that they open in tabs and by keyboard. */
export const TextLink = createLink(
  (props: AnchorProps & Omit<ComponentProps<"a">, keyof AnchorProps>) => (
    <Anchor inherit {...props} />
  ),
);

export const ButtonLink = createLink(
  (props: ButtonProps & Omit<ComponentProps<"a">, keyof ButtonProps>) => (
    <Button<"a"> component="a" {...props} />
  ),
);
