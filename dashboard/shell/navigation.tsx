import {
  IconBook,
  IconChartBar,
  IconCoins,
  IconKey,
  IconMessages,
  IconPencil,
  IconServerCog,
  IconSettings,
  IconUsers,
  IconWebhook,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useMe } from "../session.ts";
import { shellText } from "../text/shell.ts";
import classes from "./shell.module.css";

const PAGES = [
  { to: "/", name: shellText.overview, Icon: IconChartBar },
  { to: "/messages", name: shellText.messages, Icon: IconMessages },
  { to: "/compose", name: shellText.compose, Icon: IconPencil },
  { to: "/webhooks", name: shellText.webhooks, Icon: IconWebhook },
  { to: "/keys", name: shellText.keys, Icon: IconKey },
  { to: "/credits", name: shellText.credits, Icon: IconCoins },
  { to: "/team", name: shellText.team, Icon: IconUsers },
  { to: "/settings", name: shellText.settings, Icon: IconSettings },
] as const;

const OPERATOR = { to: "/operator", name: shellText.operator, Icon: IconServerCog } as const;

export function Navigation({ onChosen }: { onChosen?: () => void }) {
  const { isOperator } = useMe();
  const pages = isOperator ? [...PAGES, OPERATOR] : PAGES;
  return (
    <ul className={classes["navigation"]}>
      {pages.map(({ to, name, Icon }) => (
        <li key={to}>
          <Link
            to={to}
            className={classes["navigationLink"]}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            onClick={onChosen}
          >
            <Icon size={18} aria-hidden />
            {name}
          </Link>
        </li>
      ))}
      <li className={classes["apart"]}>
        <a href="/docs" className={classes["navigationLink"]}>
          <IconBook size={18} aria-hidden />
          {shellText.docs}
        </a>
      </li>
    </ul>
  );
}
