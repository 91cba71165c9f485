import { Button, Container } from "@mantine/core";
import { IconMapQuestion } from "@tabler/icons-react";
import { shellText } from "../text/shell.ts";
import { Empty } from "../ui/empty.tsx";
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
