import { useDisclosure } from "@mantine/hooks";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { Suspense, useEffect, useRef, useState } from "react";
import { part } from "../parts.ts";
import { AccountProvider, type Membership } from "../session.ts";
import { shellText } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { useKeptFocus } from "../ui/kept-focus.ts";
import { Header } from "./header.tsx";
import { ConnectionBanner, LiveProvider, useSilentSince } from "./live.tsx";
import { Navigation } from "./navigation.tsx";
import { OpenSearch } from "./open-search.ts";
import classes from "./shell.module.css";
import { useSiteShortcuts } from "./site-shortcuts.ts";

const NavigationDrawer = part(() => import("./navigation-drawer.tsx"), "default");
const Palette = part(() => import("./palette.tsx"), "default");
const ShortcutList = part(() => import("./shortcut-list.tsx"), "default");

/** The frame around every page of an account. */
export function Shell({ account }: { account: Membership }) {
  return (
    <AccountProvider value={account}>
      <LiveProvider key={account.accountId}>
        <Frame />
      </LiveProvider>
    </AccountProvider>
  );
}

function Frame() {
  const [isDrawerOpen, drawer] = useDisclosure(false);
  const [overlay, setOverlay] = useState<"palette" | "shortcuts">();
  const openPalette = () => setOverlay("palette");
  const openShortcuts = () => setOverlay("shortcuts");
  useSiteShortcuts({ openPalette, openShortcuts });
  return (
    <>
      <a href="#main" className={classes["skip"]}>
        {shellText.skip}
      </a>
      <Header onMenu={drawer.open} onSearch={openPalette} onShortcuts={openShortcuts} />
      <nav className={classes["side"]} aria-label={shellText.navigation}>
        <Navigation />
      </nav>
      <OpenSearch value={openPalette}>
        <Main />
      </OpenSearch>
      <Coming />
      <Suspense>
        {isDrawerOpen && <NavigationDrawer onClose={drawer.close} />}
        {overlay === "palette" && <Palette onClose={() => setOverlay(undefined)} />}
        {overlay === "shortcuts" && <ShortcutList onClose={() => setOverlay(undefined)} />}
      </Suspense>
    </>
  );
}

/** Says so if a page takes long to load; the one before it stays visible meanwhile. */
function Coming() {
  const isComing = useRouterState({ select: ({ status }) => status === "pending" });
  return isComing && <output className="waiting-note">{words.waitingForService}</output>;
}

function Main() {
  const main = useFocusOnNewPage();
  useKeptFocus();
  return (
    <main id="main" tabIndex={-1} ref={main} className={classes["main"]}>
      <div className={classes["content"]}>
        <ConnectionBanner silentSince={useSilentSince()} />
        <Outlet />
      </div>
    </main>
  );
}

/** A new page takes the focus, so that a keyboard or screen reader starts at its top. */
function useFocusOnNewPage() {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== path) main.current?.focus();
    before.current = path;
  }, [path]);
  return main;
}
