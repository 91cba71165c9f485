import { useMantineColorScheme } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { Suspense, useEffect } from "react";
import { clearDraftsOfOthers } from "../drafts.ts";
import { part } from "../parts.ts";
import { useMe } from "../session.ts";
import { ZoneProvider } from "../ui/zone.tsx";
import { Shell } from "./shell.tsx";

const NoAccount = part(() => import("./no-account.tsx"), "default");

/** Chooses the account of the page: the one in the address, or the only one. */
export function SignedIn() {
  const me = useMe();
  const { account: wanted } = useSearch({ from: "__root__" });
  useThemeOfProfile(me.preferences.theme);
  useEffect(() => clearDraftsOfOthers(me.userId), [me.userId]);
  const account = wanted
    ? me.accounts.find(({ accountId }) => accountId === wanted)
    : me.accounts[0];
  return (
    <ZoneProvider choice={me.preferences.zone}>
      <Suspense>
        {account ? <Shell account={account} /> : <NoAccount isNamed={wanted !== undefined} />}
      </Suspense>
    </ZoneProvider>
  );
}

/** A new browser takes over the profile's theme. */
function useThemeOfProfile(theme: "system" | "light" | "dark"): void {
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => setColorScheme(theme === "system" ? "auto" : theme), [theme, setColorScheme]);
}
