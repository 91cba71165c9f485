import { type QueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type AnyRouter, redirect } from "@tanstack/react-router";
import { createContext, use } from "react";
import type { MemberRole } from "#contract";
import { type Answer, call } from "./api.ts";
import { Failure } from "./failure.ts";
import { readOptions } from "./use-read.ts";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** Set if sign-in is shown because the session has ended. */
    hasEnded?: boolean;
  }
}

export type Me = Answer<"GET /console/me">;
export type Membership = Me["accounts"][number];

export const meOptions = { ...readOptions("GET /console/me", {}), staleTime: 30_000 };

/** The user who is signed in; redirects to sign-in, or to setup on a fresh installation. */
export async function requireUser(client: QueryClient, href: string): Promise<Me> {
  try {
    return await client.ensureQueryData(meOptions);
  } catch (error) {
    const isOut = error instanceof Failure && error.status === 401;
    if (!isOut) throw error;
    if (await waitsForSetup()) throw redirect({ to: "/setup" });
    throw redirect({ to: "/sign-in", search: nextOf(href) });
  }
}

/** Sign-in leads to the start page anyway. */
function nextOf(href: string): { next?: string } {
  return href === "/" ? {} : { next: href };
}

export async function waitsForSetup(): Promise<boolean> {
  try {
    await call("GET /console/setup", {});
    return true;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return false;
    throw error;
  }
}

/** Whether the page that is shown or loading is the one for signing in. */
export function isAtSignIn(router: AnyRouter): boolean {
  return router.latestLocation.pathname === "/sign-in";
}

/** The session ended while a page was open: return to that page after signing in again. */
export function goToSignIn(router: AnyRouter): void {
  const { pathname, href } = router.state.location;
  if (["/sign-in", "/setup", "/join", "/reset"].includes(pathname)) return;
  // The caller has made sure that the page shows nothing that cannot be shown again.
  const ignoreBlocker = true;
  const state = { hasEnded: true };
  const search = nextOf(href);
  void router.navigate({ to: "/sign-in", search, state, replace: true, ignoreBlocker });
}

export function useMe(): Me {
  return useSuspenseQuery(meOptions).data;
}

const AccountContext = createContext<Membership | undefined>(undefined);
export const AccountProvider = AccountContext;

/** The page's account. */
export function useAccount(): Membership {
  const account = use(AccountContext);
  if (!account) throw new Error("This page stands outside an account.");
  return account;
}

const RANK: Record<MemberRole, number> = { viewer: 0, developer: 1, owner: 2 };

/** Why the person's role does not allow this; undefined if it does. The server decides. */
export function useDenial(needed: MemberRole): string | undefined {
  const { role } = useAccount();
  if (RANK[role] >= RANK[needed]) return undefined;
  return `This needs the ${needed} role; yours is ${role}. An owner can change it on the Team page.`;
}
