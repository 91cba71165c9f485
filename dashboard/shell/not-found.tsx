import { Button } from "@mantine/core";
import { IconMapQuestion, IconSearch } from "@tabler/icons-react";
import { use } from "react";
import { shellText } from "../text/shell.ts";
import { Empty } from "../ui/empty.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { OpenSearch } from "./open-search.ts";

/** Within the shell, so that every other page stays in reach. */
export function NotFound() {
  const openSearch = use(OpenSearch);
  return (
    <Page title={shellText.notFound}>
      <Empty icon={<IconMapQuestion aria-hidden />} title={shellText.notFoundHint}>
        {openSearch && (
          <Button leftSection={<IconSearch size={16} aria-hidden />} onClick={openSearch}>
            {shellText.search}
          </Button>
        )}
        <ButtonLink to="/" variant="default">
          {shellText.toOverview}
        </ButtonLink>
      </Empty>
    </Page>
  );
}
