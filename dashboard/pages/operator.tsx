import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { OperatorStreamEvent } from "#contract";
import { addressOf, type ReadRoute } from "../api.ts";
import { useMe } from "../session.ts";
import { ConnectionBanner, useHasStream } from "../shell/live.tsx";
import { NotFound } from "../shell/not-found.tsx";
import { useStream } from "../shell/stream.ts";
import { operatorText as text } from "../text/operator.ts";
import { Page } from "../ui/page.tsx";
import { askAgain } from "../use-read.ts";
import classes from "./operator/operator.module.css";

const SECTIONS = [
  { to: "/operator/accounts", name: text.accounts },
  { to: "/operator/users", name: text.users },
  { to: "/operator/carriers", name: text.carriers },
  { to: "/operator/routes", name: text.routes },
  { to: "/operator/prices", name: text.prices },
  { to: "/operator/queue", name: text.queue },
  { to: "/operator/audit", name: text.audit },
] as const;

/** For everybody but operators, these pages do not exist. */
export function OperatorPage() {
  return useMe().isOperator ? <Sections /> : <NotFound />;
}

function Sections() {
  const silentSince = useOperatorStream();
  const isSaid = useHasStream();
  const bar = useOpenInSight();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <Page title={text.title} about={SECTIONS.find(({ to }) => to === path)?.name} hasTimes>
      {!isSaid && <ConnectionBanner silentSince={silentSince} />}
      <nav ref={bar} aria-label={text.sections} className={classes["sections"]}>
        {SECTIONS.map(({ to, name }) => (
          <Link
            key={to}
            to={to}
            className={classes["section"]}
            activeOptions={{ includeSearch: false }}
          >
            {name}
          </Link>
        ))}
      </nav>
      <Outlet />
    </Page>
  );
}

/** On a phone the tabs scroll sideways: this centers the open one without moving the page. */
function useOpenInSight() {
  const bar = useRef<HTMLElement>(null);
  const router = useRouter();
  useEffect(() => {
    const show = () => {
      const open = bar.current?.querySelector<HTMLElement>("[aria-current=page]");
      if (!bar.current || !open) return;
      const left = open.offsetLeft - (bar.current.clientWidth - open.offsetWidth) / 2;
      bar.current.scrollTo({ left });
    };
    // At once, and whenever the screen is rotated.
    const turned = new ResizeObserver(show);
    if (bar.current) turned.observe(bar.current);
    // By then, the router has restored all scroll positions.
    const unsubscribe = router.subscribe("onRendered", show);
    return () => {
      turned.disconnect();
      unsubscribe();
    };
  }, [router]);
  return bar;
}

const O = "GET /console/operator";

const SHOWS: Record<OperatorStreamEvent["type"], readonly ReadRoute[]> = {
  carriers: [`${O}/carriers`],
  routing: [`${O}/routes`, `${O}/prices`],
  queue: [`${O}/queue`, `${O}/carriers`],
  nodes: [`${O}/nodes`],
  audit: [`${O}/audit`],
  accounts: [`${O}/accounts`, `${O}/users`],
  all: [
    "GET /console/me",
    `${O}/carriers`,
    `${O}/routes`,
    `${O}/prices`,
    `${O}/queue`,
    `${O}/nodes`,
    `${O}/audit`,
    `${O}/accounts`,
    `${O}/users`,
  ],
  ended: ["GET /console/me"],
};

/** Returns since when the stream is off. */
function useOperatorStream(): number | undefined {
  const client = useQueryClient();
  return useStream<OperatorStreamEvent>(addressOf(`${O}/stream`, {}), (events) => {
    askAgain(client, [...new Set(events.flatMap(({ type }) => SHOWS[type]))]);
  });
}
