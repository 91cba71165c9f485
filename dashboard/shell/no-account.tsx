import { Button, Container } from "@mantine/core";
import { IconUserQuestion } from "@tabler/icons-react";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useMe } from "../session.ts";
import { noAccountText as text } from "../text/no-account.ts";
import { shellText } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { Empty } from "../ui/empty.tsx";
import { useKeptFocus } from "../ui/kept-focus.ts";
import { ButtonLink } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import classes from "./shell.module.css";
import { UserMenu, useSignOut } from "./user-menu.tsx";

const OUTSIDE: string[] = ["/signed-in/operator", "/signed-in/profile"];
/** Drops the account from the address, which would lead back here. */
const NAMELESS = { account: undefined };

/**
 * Shown if a user belongs to no account, or not to the one in the address. Pages outside accounts
 * still work for them, and so does signing out.
 */
export default function NoAccount({ isNamed }: { isNamed: boolean }) {
  // Judged by the page shown, not the one loading: the page before must not be drawn here.
  const isOutside = useRouterState({
    select: ({ matches }) => matches.some(({ routeId }) => OUTSIDE.includes(routeId)),
  });
  useKeptFocus();
  return (
    <>
      <header className={classes["header"]}>
        <Link to="/" search={NAMELESS} className={classes["brand"]}>
          <img src="/favicon.svg" alt="" width={24} height={24} />
          {words.product}
        </Link>
        <div className={classes["spacer"]} />
        <UserMenu />
      </header>
      <Container
        size={isOutside ? "lg" : "sm"}
        pt={80}
        pb="xl"
        component="main"
        id="main"
        tabIndex={-1}
        style={{ outline: "none" }}
      >
        {isOutside ? <Outlet /> : <Explanation isNamed={isNamed} />}
      </Container>
    </>
  );
}

function Explanation({ isNamed }: { isNamed: boolean }) {
  const { accounts, isOperator } = useMe();
  const signOut = useSignOut();
  const isInNone = accounts.length === 0;
  return (
    <Page title={isNamed ? text.notFound : text.none}>
      <Empty
        icon={<IconUserQuestion aria-hidden />}
        title={isNamed ? text.notFoundHint : text.noneHint}
        description={isNamed && isInNone ? text.noneHint : undefined}
      >
        {!isInNone && (
          <ButtonLink to="/" search={NAMELESS}>
            {text.openMine}
          </ButtonLink>
        )}
        {isOperator && (
          <ButtonLink to="/operator" search={NAMELESS} variant="default">
            {text.openOperator}
          </ButtonLink>
        )}
        {isInNone && (
          <Button
            variant="default"
            loading={signOut.isRunning}
            onClick={() => void signOut.run(undefined)}
          >
            {shellText.signOut}
          </Button>
        )}
      </Empty>
    </Page>
  );
}
