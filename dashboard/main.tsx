import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@mantine/core/styles.layer.css";
import "./main.css";
import { MantineProvider } from "@mantine/core";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { type Failure, toFailure } from "./failure.ts";
import { whenFree } from "./held-page.ts";
import { takeLinkToken } from "./link-token.ts";
import { createSiteRouter } from "./routes.tsx";
import { goToSignIn, meOptions } from "./session.ts";
import { resolver, theme } from "./theme.ts";
import { Toasts } from "./ui/toasts.tsx";
// What most pages show is bundled with the first file, instead of a dozen small ones.
import "./ui/empty.tsx";
import "./ui/link.tsx";
import "./ui/listing.tsx";
import "./ui/page.tsx";
import "./ui/reasoned.tsx";
import "./ui/status-badge.tsx";
import "./ui/time.tsx";

takeLinkToken();
addEventListener("hashchange", takeLinkToken);

const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
setNonce(nonce);

const client = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      const hasEnded = toFailure(error).code === "SESSION_REQUIRED" && knowsUser();
      if (hasEnded) whenFree(() => goToSignIn(router));
    },
  }),
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 1 && mayPass(toFailure(error)),
      retryDelay: 500,
      staleTime: 2_000,
      refetchOnWindowFocus: true,
    },
  },
});
const router = createSiteRouter(client);

/** If nobody was signed in, the route already redirects to sign-in. */
function knowsUser(): boolean {
  return client.getQueryData(meOptions.queryKey) !== undefined;
}

/** Retries what may resolve itself: a cookie may be renewed while a request is under way. */
function mayPass({ status, code }: Failure): boolean {
  if (code === "SESSION_REQUIRED") return knowsUser();
  return [0, 500, 502, 503].includes(status);
}

// Before any text is drawn: a later change of font would shift the page.
document.fonts.load("1em 'Inter Variable'").catch(() => undefined);

const root = document.querySelector("#root");
if (!root) throw new Error("The page has no #root.");
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolver}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={client}>
        <Toasts />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
