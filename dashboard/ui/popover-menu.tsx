import { type ReactNode, useId, useRef } from "react";
import classes from "./popover-menu.module.css";

type Props = {
  /** The button's name, unless its content says it. */
  label: string;
  button: ReactNode;
  /** The button shrinks if there is little room, and truncates its content. */
  shrinks?: boolean;
  children: ReactNode;
};

/** As in the style sheet: the list's greatest width, and the margin around it. */
const LIST_WIDTH = 360;
const EDGE = 8;

/**
 * A button that opens a list of links and buttons. It uses the browser's own popover: Esc and a
 * click outside close it and return the focus, and no page has to load a menu library.
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
    // Its width is known only once it is shown.
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

/** Closes the menu around the element after a choice in it. */
export function closeMenuOf(element: Element): void {
  element.closest<HTMLElement>("[popover]")?.hidePopover();
}

export const menuItemClass = classes["item"];
export const menuLabelClass = classes["label"];
export const menuDividerClass = classes["divider"];
