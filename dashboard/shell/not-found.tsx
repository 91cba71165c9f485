import { Container } from "@mantine/core";
import { IconMapQuestion } from "@tabler/icons-react";
import { shellText } from "../text/shell.ts";
import { Empty } from "../ui/empty.tsx";
import { ButtonLink } from "../ui/link.tsx";
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
        <ButtonLink to="/">{shellText.toOverview}</ButtonLink>
      </Empty>
    </Page>
  );
}
