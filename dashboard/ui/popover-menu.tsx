import { type ReactNode, useId, useRef } from "react";
import classes from "./popover-menu.module.css";

type Props = {
  /** The name of the button, unless its content says it. */
  label: string;
  button: ReactNode;
  /** The button gives way where there is little room, and its content cuts itself. */
  shrinks?: boolean;
  children: ReactNode;
};

/** As in the style: what the list takes at most, and what it keeps free around it. */
const LIST_WIDTH = 360;
const EDGE = 8;

/**
 * A button that opens a list of links and buttons. The browser's own popover: Esc and a click outside
 * close it and give the focus back, and no page loads a menu library for it.
 */
export function PopoverMenu({ label, button, shrinks, children }: Props) {
  const id = useId();
  const target = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  function place(): void {
    if (!target.current || !list.current) return;
    const { left, right, bottom } = target.current.getBoundingClientRect();
    const isRight = left > innerWidth / 2;
    const top = bottom + 6;
    // How wide it is can be told only once it is shown.
    const furthest = Math.max(EDGE, innerWidth - EDGE - LIST_WIDTH);
    list.current.style.top = `${top}px`;
    list.current.style.maxHeight = `calc(100dvh - ${top + EDGE}px)`;
    list.current.style.left = isRight ? "auto" : `${Math.min(left, furthest)}px`;
    list.current.style.right = isRight ? `${innerWidth - right}px` : "auto";
  }
  return (
    <>
      <button
        ref={target}
        type="button"
        className={classes["button"]}
        popoverTarget={id}
        aria-label={label}
        data-shrinks={shrinks}
      >
        {button}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className={classes["list"]}
        onBeforeToggle={(event) => event.newState === "open" && place()}
      >
        {children}
      </div>
    </>
  );
}

/** Closes the menu that holds the element, once something in it was chosen. */
export function closeMenuOf(element: Element): void {
  element.closest<HTMLElement>("[popover]")?.hidePopover();
}

export const menuItemClass = classes["item"];
export const menuLabelClass = classes["label"];
export const menuDividerClass = classes["divider"];
