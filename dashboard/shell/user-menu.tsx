import { useMantineColorScheme } from "@mantine/core";
import {
  IconCheck,
  IconDeviceDesktop,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconSun,
  IconUser,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { call } from "../api.ts";
import { clearDrafts } from "../drafts.ts";
import { toFailure } from "../failure.ts";
import { useMe } from "../session.ts";
import { shellText } from "../text/shell.ts";
import {
  closeMenuOf,
  menuDividerClass,
  menuItemClass,
  menuLabelClass,
  PopoverMenu,
} from "../ui/popover-menu.tsx";
import { toast } from "../ui/toasts.tsx";
import { type Action, useAction } from "../use-action.ts";
import { useSaveMe } from "../use-save-me.ts";
import classes from "./shell.module.css";

const THEMES = [
  { theme: "system", scheme: "auto", Icon: IconDeviceDesktop },
  { theme: "light", scheme: "light", Icon: IconSun },
  { theme: "dark", scheme: "dark", Icon: IconMoon },
] as const;

export function UserMenu({ onShortcuts }: { onShortcuts?: () => void }) {
  const { name, email } = useMe();
  const signOut = useSignOut();
  return (
    <PopoverMenu label={shellText.userMenu(name)} button={<Initials name={name} />}>
      <div className={menuLabelClass}>{email}</div>
      <Link
        to="/profile"
        className={menuItemClass}
        onClick={(event) => closeMenuOf(event.currentTarget)}
      >
        <IconUser size={16} aria-hidden />
        {shellText.profile}
      </Link>
      <hr className={menuDividerClass} />
      <ThemeItems />
      <hr className={menuDividerClass} />
      {onShortcuts && (
        <button
          type="button"
          className={menuItemClass}
          onClick={(event) => {
            closeMenuOf(event.currentTarget);
            onShortcuts();
          }}
        >
          <IconKeyboard size={16} aria-hidden />
          {shellText.shortcuts}
        </button>
      )}
      <button type="button" className={menuItemClass} onClick={() => void signOut.run(undefined)}>
        <IconLogout size={16} aria-hidden />
        {shellText.signOut}
      </button>
    </PopoverMenu>
  );
}

/** Drawn by CSS, as the letters are not part of the button's name. */
function Initials({ name }: { name: string }) {
  return <span className={classes["initials"]} data-initials={initialsOf(name)} />;
}

function ThemeItems() {
  const { colorScheme } = useMantineColorScheme();
  const choose = useThemeChoice();
  return (
    <div role="group" aria-label={shellText.theme}>
      <div className={menuLabelClass} aria-hidden>
        {shellText.theme}
      </div>
      {THEMES.map(({ theme, scheme, Icon }) => (
        <button
          key={theme}
          type="button"
          className={menuItemClass}
          aria-pressed={colorScheme === scheme}
          onClick={() => void choose(theme)}
        >
          <Icon size={16} aria-hidden />
          {shellText.themes[theme]}
          {colorScheme === scheme && <IconCheck size={16} aria-hidden />}
        </button>
      ))}
    </div>
  );
}

export type Theme = (typeof THEMES)[number]["theme"];

/** Applies at once in this browser, and is saved in the profile for others. */
function useThemeChoice(): (theme: Theme) => Promise<void> {
  const { setColorScheme } = useMantineColorScheme();
  const save = useSaveMe();
  return async (theme) => {
    setColorScheme(theme === "system" ? "auto" : theme);
    const outcome = await save.run({ preferences: { theme } });
    if (outcome?.ok !== false) return;
    toast({ title: shellText.themeNotKept, message: outcome.failure.message, isWarning: true });
  };
}

/** Reloads the page, so that nothing stays in memory or behind the Back button. */
function leave(): void {
  location.replace("/sign-in");
}

export function useSignOut(goOn: () => unknown = leave): Action<undefined, unknown> {
  return useAction(async () => {
    try {
      await call("POST /console/auth/sign-out", {});
    } catch (error) {
      const { code, message } = toFailure(error);
      // A session that ended by itself leaves as much behind.
      if (code !== "SESSION_REQUIRED") {
        return toast({ title: shellText.notSignedOut, message, isWarning: true });
      }
    }
    clearDrafts();
    return goOn();
  });
}

function initialsOf(name: string): string {
  const letters = name.split(/\s+/).map((word) => [...word][0] ?? "");
  return `${letters[0] ?? ""}${letters.length > 1 ? letters.at(-1) : ""}`.toUpperCase();
}
