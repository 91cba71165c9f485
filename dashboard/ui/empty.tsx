import { EmptyState } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { icon: ReactNode; title: string; description?: ReactNode; children?: ReactNode };

/** Nothing yet, or nothing that matches: what it means, and what to do next. */
export function Empty({ icon, title, description, children }: Props) {
  return (
    <EmptyState
      icon={icon}
      title={title}
      description={description}
      withIndicatorBackground
      py="xl"
      styles={{
        description: { textWrap: "balance" },
        actions: { justifyContent: "center" },
      }}
    >
      {children && <EmptyState.Actions>{children}</EmptyState.Actions>}
    </EmptyState>
  );
}
