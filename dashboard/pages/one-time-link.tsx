import { Loader } from "@mantine/core";
import { IconLinkOff } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Answer, call } from "../api.ts";
import { toFailure } from "../failure.ts";
import { useLinkToken } from "../link-token.ts";
import { linkText as text, setupText } from "../text/sign-in.ts";
import { Empty } from "../ui/empty.tsx";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { PublicPage } from "../ui/public-page.tsx";

type Link = Answer<"POST /console/links/read">;

type Props = {
  kind: Link["kind"];
  title: string;
  children: (token: string, link: Link) => ReactNode;
};

/** Finds out what a one-time link is for, or says why it does not work. */
export function OneTimeLink({ kind, title, children }: Props) {
  const token = useLinkToken();
  const link = useQuery({
    // Another link may be opened in the same tab. This query is dropped with the page.
    queryKey: ["one-time link", token],
    queryFn: () =>
      call("POST /console/links/read", { body: { token: token ?? "" } }, { onlyReads: true }),
    enabled: token !== undefined,
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (token === undefined)
    return <Broken title={title} says={text.noLink} hint={text.noLinkHint} />;
  if (link.data?.kind === kind) return children(token, link.data);
  const failure = link.error ? toFailure(link.error) : undefined;
  if (link.data || failure?.code === "LINK_INVALID") {
    const hint = failure?.message ?? text.wrongLinkHint;
    return <Broken title={title} says={text.wrongLink} hint={hint} />;
  }
  return (
    <PublicPage title={title}>
      {failure ? (
        <FailurePanel failure={failure} onRetry={() => void link.refetch()} />
      ) : (
        <Loader size="sm" role="status" aria-label={setupText.checking} />
      )}
    </PublicPage>
  );
}

function Broken({ title, says, hint }: { title: string; says: string; hint: string }) {
  return (
    <PublicPage title={title}>
      <Empty icon={<IconLinkOff aria-hidden />} title={says} description={hint}>
        <ButtonLink to="/sign-in" variant="default">
          {text.toSignIn}
        </ButtonLink>
      </Empty>
    </PublicPage>
  );
}
