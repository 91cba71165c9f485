import { Button, Container } from "@mantine/core";
import { IconMapQuestion } from "@tabler/icons-react";
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { toFailure } from "../failure.ts";
import { shellText } from "../text/shell.ts";
import { Empty } from "../ui/empty.tsx";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { Page } from "../ui/page.tsx";

export function NotFound() {
  return (
    <Container size="sm" py="xl" component="main">
      <NothingHere />
    </Container>
  );
}

/** The same where the page around it stays. */
export function NothingHere() {
  return (
    <Page title={shellText.notFound}>
      <Empty icon={<IconMapQuestion aria-hidden />} title={shellText.notFoundHint}>
        <Button component="a" href="/">
          {shellText.toOverview}
        </Button>
      </Empty>
    </Page>
  );
}

/** The boundary of each route: what failed, in words, and a way to try again. */
export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Container size="sm" py="xl">
      <FailurePanel
        failure={toFailure(error)}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </Container>
  );
}
