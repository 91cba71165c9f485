import { Container, useMantineColorScheme } from "@mantine/core";
import { IconUserQuestion } from "@tabler/icons-react";
import { useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useMe } from "../session.ts";
import { shellText } from "../text/shell.ts";
import { Empty } from "../ui/empty.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { ZoneProvider } from "../ui/zone.tsx";
import { Shell } from "./shell.tsx";

/** Chooses the account of the page: the one in the address, or the only one. */
export function SignedIn() {
  const me = useMe();
  const { account: wanted } = useSearch({ from: "__root__" });
  useThemeOfProfile(me.preferences.theme);
  const account = wanted
    ? me.accounts.find(({ accountId }) => accountId === wanted)
    : me.accounts[0];
  return (
    <ZoneProvider choice={me.preferences.zone}>
      {account ? <Shell account={account} /> : <NoAccount isNamed={wanted !== undefined} />}
    </ZoneProvider>
  );
}

/** On a new browser the profile's theme is taken over. */
function useThemeOfProfile(theme: "system" | "light" | "dark"): void {
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => setColorScheme(theme === "system" ? "auto" : theme), [theme, setColorScheme]);
}

function NoAccount({ isNamed }: { isNamed: boolean }) {
  const hasAny = useMe().accounts.length > 0;
  return (
    <Container size="sm" py="xl" component="main">
      <Page title={isNamed ? shellText.accountNotFound : shellText.noAccount}>
        <Empty
          icon={<IconUserQuestion aria-hidden />}
          title={isNamed ? shellText.accountNotFoundHint : shellText.noAccountHint}
        >
          {hasAny && (
            <ButtonLink to="/" search={{}}>
              {shellText.openMine}
            </ButtonLink>
          )}
        </Empty>
      </Page>
    </Container>
  );
}
