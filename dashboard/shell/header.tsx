import { ActionIcon, Button, Text, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconCoins, IconMenu2, IconSearch, IconSelector } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { countOf, formatCompact, formatNumber } from "../format.ts";
import { useAccount, useMe } from "../session.ts";
import { shellText } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { closeMenuOf, menuItemClass, PopoverMenu } from "../ui/popover-menu.tsx";
import { useIsPhone } from "../ui/use-phone.ts";
import classes from "./shell.module.css";
import { UserMenu } from "./user-menu.tsx";

type Props = { onMenu: () => void; onSearch: () => void; onShortcuts: () => void };

export function Header({ onMenu, onSearch, onShortcuts }: Props) {
  const isPhone = useIsPhone();
  return (
    <header className={classes["header"]}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        className={classes["menuButton"]}
        aria-label={shellText.openNavigation}
        onClick={onMenu}
      >
        <IconMenu2 size={20} aria-hidden />
      </ActionIcon>
      <Link to="/" className={classes["brand"]}>
        <img src="/favicon.svg" alt="" width={24} height={24} />
        {isPhone ? <VisuallyHidden>{words.product}</VisuallyHidden> : words.product}
      </Link>
      <span className={classes["slash"]} aria-hidden>
        /
      </span>
      <AccountSwitcher />
      <div className={classes["spacer"]} />
      <SearchButton onSearch={onSearch} isPhone={isPhone} />
      <CreditsChip isPhone={isPhone} />
      <UserMenu onShortcuts={onShortcuts} />
    </header>
  );
}

function SearchButton({ onSearch, isPhone }: { onSearch: () => void; isPhone: boolean }) {
  if (isPhone) {
    return (
      <ActionIcon
        variant="default"
        size="lg"
        aria-label={`${shellText.search} ${shellText.searchKeys}`}
        onClick={onSearch}
      >
        <IconSearch size={18} aria-hidden />
      </ActionIcon>
    );
  }
  return (
    <Button
      variant="default"
      size="xs"
      flex="none"
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={
        <Text span size="xs" c="dimmed">
          {shellText.searchKeys}
        </Text>
      }
      onClick={onSearch}
    >
      {shellText.search}
    </Button>
  );
}

function AccountSwitcher() {
  const { accounts } = useMe();
  const { accountId, name } = useAccount();
  if (accounts.length < 2) {
    return (
      <Text span className={classes["account"]} title={name}>
        {name}
      </Text>
    );
  }
  return (
    <PopoverMenu
      label={`${shellText.switchAccount}: ${name}`}
      shrinks
      button={
        <>
          <span className={classes["account"]}>{name}</span>
          <IconSelector size={14} aria-hidden className={classes["fixed"]} />
        </>
      }
    >
      {accounts.map((account) => (
        <Link
          key={account.accountId}
          to="/"
          search={{ account: account.accountId }}
          className={menuItemClass}
          aria-current={account.accountId === accountId ? "true" : undefined}
          onClick={(event) => closeMenuOf(event.currentTarget)}
        >
          <span>{account.name}</span>
          {account.accountId === accountId && <IconCheck size={16} aria-hidden />}
        </Link>
      ))}
    </PopoverMenu>
  );
}

function CreditsChip({ isPhone }: { isPhone: boolean }) {
  const { balance, lowCredits } = useAccount();
  const [color, state] =
    balance <= 0
      ? (["red", shellText.creditsGone] as const)
      : balance <= lowCredits
        ? (["yellow", shellText.creditsLow] as const)
        : (["gray", undefined] as const);
  const full = countOf(balance, "credit");
  return (
    <Link
      to="/credits"
      className={classes["brand"]}
      aria-label={state ? `${full}. ${state}` : full}
    >
      <span
        className={classes["credits"]}
        style={{ borderColor: `var(--mantine-color-${color}-outline)` }}
        data-credits={balance}
      >
        <IconCoins size={14} aria-hidden />
        {isPhone ? shortNumber(balance) : full}
      </span>
    </Link>
  );
}

/** A phone has room for six digits. */
function shortNumber(credits: number): string {
  return Math.abs(credits) < 1_000_000 ? formatNumber(credits) : formatCompact(credits);
}
