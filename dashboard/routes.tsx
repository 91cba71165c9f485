import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import { readCompose } from "./pages/compose/search.ts";
import { readCredits } from "./pages/credits/search.ts";
import { readKeys } from "./pages/keys/search.ts";
import { readMessages } from "./pages/messages/search.ts";
import { readAudit, readQuery } from "./pages/operator/search.ts";
import { readOverview } from "./pages/overview/search.ts";
import { readTeam } from "./pages/team/search.ts";
import { readWebhooks } from "./pages/webhooks/search.ts";
import { page } from "./parts.ts";
import { parseSearch, present, type RawSearch, readChoice, readId, readNext } from "./search.ts";
import { stringifySearch } from "./search.ts";
import { requireUser, waitsForSetup } from "./session.ts";
import { RouteFailure } from "./shell/route-failure.tsx";
import { SignedIn } from "./shell/signed-in.tsx";

/** The whole site map. Each page is a file of its own, loaded when first opened. */
const root = createRootRouteWithContext<{ client: QueryClient }>()({
  validateSearch: (raw: RawSearch): { account?: string } =>
    present({ account: readId(raw["account"]) }),
  search: { middlewares: [retainSearchParams(["account"])] },
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  beforeLoad: async () => {
    if (!(await waitsForSetup())) throw redirect({ to: "/sign-in" });
  },
  component: page(() => import("./pages/setup.tsx"), "SetupPage"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (raw: RawSearch): { next?: string } => present({ next: readNext(raw["next"]) }),
  // Users made in the terminal can sign in before there is an operator: only the setup page links
  // here with `next=/`.
  beforeLoad: async ({ search }) => {
    if (search.next !== "/" && (await waitsForSetup())) throw redirect({ to: "/setup" });
  },
  component: page(() => import("./pages/sign-in.tsx"), "SignInPage"),
});

const join = createRoute({
  getParentRoute: () => root,
  path: "/join",
  component: page(() => import("./pages/join.tsx"), "JoinPage"),
});

const reset = createRoute({
  getParentRoute: () => root,
  path: "/reset",
  component: page(() => import("./pages/reset.tsx"), "ResetPage"),
});

/** Every page below needs a user who is signed in. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ context, location, search }) => {
    const me = await requireUser(context.client, location.href);
    const [first] = me.accounts;
    // With several accounts every address names its own, so that a copied link opens the right one.
    const isNameless = search.account === undefined && me.accounts.length > 1 && first;
    if (isNameless) {
      throw redirect({
        to: location.pathname,
        search: { ...parseSearch(location.searchStr), account: first.accountId },
        replace: true,
      });
    }
  },
  component: SignedIn,
});

const overview = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  validateSearch: readOverview,
  component: page(() => import("./pages/overview.tsx"), "OverviewPage"),
});

const messages = createRoute({
  getParentRoute: () => signedIn,
  path: "/messages",
  validateSearch: readMessages,
  component: page(() => import("./pages/messages.tsx"), "MessagesPage"),
});

const message = createRoute({
  getParentRoute: () => signedIn,
  path: "/messages/$messageId",
  validateSearch: (raw: RawSearch): { tab?: "json" } =>
    present({ tab: readChoice(raw["tab"], ["json"]) }),
  component: page(() => import("./pages/message.tsx"), "MessagePage"),
});

const compose = createRoute({
  getParentRoute: () => signedIn,
  path: "/compose",
  validateSearch: readCompose,
  component: page(() => import("./pages/compose.tsx"), "ComposePage"),
});

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: "/webhooks",
  validateSearch: readWebhooks,
  component: page(() => import("./pages/webhooks.tsx"), "WebhooksPage"),
});

const keys = createRoute({
  getParentRoute: () => signedIn,
  path: "/keys",
  validateSearch: readKeys,
  component: page(() => import("./pages/keys.tsx"), "KeysPage"),
});

const credits = createRoute({
  getParentRoute: () => signedIn,
  path: "/credits",
  validateSearch: readCredits,
  component: page(() => import("./pages/credits.tsx"), "CreditsPage"),
});

const team = createRoute({
  getParentRoute: () => signedIn,
  path: "/team",
  validateSearch: readTeam,
  component: page(() => import("./pages/team.tsx"), "TeamPage"),
});

const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings",
  component: page(() => import("./pages/settings.tsx"), "SettingsPage"),
});

const profile = createRoute({
  getParentRoute: () => signedIn,
  path: "/profile",
  component: page(() => import("./pages/profile.tsx"), "ProfilePage"),
});

const operator = createRoute({
  getParentRoute: () => signedIn,
  path: "/operator",
  component: page(() => import("./pages/operator.tsx"), "OperatorPage"),
});

const operatorHome = createRoute({
  getParentRoute: () => operator,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/operator/accounts" });
  },
});

const operatorAccounts = createRoute({
  getParentRoute: () => operator,
  path: "/accounts",
  validateSearch: readQuery,
  component: page(() => import("./pages/operator/accounts.tsx"), "AccountsPage"),
});

const operatorUsers = createRoute({
  getParentRoute: () => operator,
  path: "/users",
  validateSearch: readQuery,
  component: page(() => import("./pages/operator/users.tsx"), "UsersPage"),
});

const operatorCarriers = createRoute({
  getParentRoute: () => operator,
  path: "/carriers",
  component: page(() => import("./pages/operator/carriers.tsx"), "CarriersPage"),
});

const operatorRoutes = createRoute({
  getParentRoute: () => operator,
  path: "/routes",
  component: page(() => import("./pages/operator/routes.tsx"), "RoutesPage"),
});

const operatorPrices = createRoute({
  getParentRoute: () => operator,
  path: "/prices",
  component: page(() => import("./pages/operator/prices.tsx"), "PricesPage"),
});

const operatorQueue = createRoute({
  getParentRoute: () => operator,
  path: "/queue",
  component: page(() => import("./pages/operator/queue.tsx"), "QueuePage"),
});

const operatorAudit = createRoute({
  getParentRoute: () => operator,
  path: "/audit",
  validateSearch: readAudit,
  component: page(() => import("./pages/operator/audit.tsx"), "AuditPage"),
});

/** A person who is not signed in must not learn which addresses exist. */
const elsewhere = createRoute({
  getParentRoute: () => signedIn,
  path: "/$",
  component: page(() => import("./shell/not-found.tsx"), "NotFound"),
});

const tree = root.addChildren([
  setup,
  signIn,
  join,
  reset,
  signedIn.addChildren([
    overview,
    messages,
    message,
    compose,
    webhooks,
    keys,
    credits,
    team,
    settings,
    profile,
    operator.addChildren([
      operatorHome,
      operatorAccounts,
      operatorUsers,
      operatorCarriers,
      operatorRoutes,
      operatorPrices,
      operatorQueue,
      operatorAudit,
    ]),
    elsewhere,
  ]),
]);

export function createSiteRouter(client: QueryClient) {
  const router = createRouter({
    routeTree: tree,
    context: { client },
    parseSearch,
    stringifySearch,
    // Removes unknown parameters from the address.
    search: { strict: true },
    defaultPreload: "intent",
    defaultPendingMs: 150,
    scrollRestoration: true,
    defaultErrorComponent: RouteFailure,
  });
  // Fetches the first page's code while asking who the user is. Navigating to it reports a failure.
  const [matchedRoutes] = router.getMatchedRoutes(router.latestLocation.pathname);
  for (const route of matchedRoutes)
    Promise.resolve(router.loadRouteChunk(route)).catch(() => undefined);
  return router;
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createSiteRouter>;
  }
}
