import { Button, EmptyState } from "@mantine/core";
import type { ReactNode } from "react";
import { words } from "../text/words.ts";

type Props = { icon: ReactNode; title: string; description?: ReactNode; children?: ReactNode };

/** Nothing yet, or no match: says what that means, and what to do next. */
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

type CutShortProps = { icon: ReactNode; onFurther: () => void };

/** Nothing in the part searched for one page; whether anything matches is not known yet. */
export function NoneSoFar({ icon, onFurther }: CutShortProps) {
  return (
    <Empty icon={icon} title={words.noneSoFar} description={words.noneSoFarHint}>
      <Button variant="default" onClick={onFurther}>
        {words.lookFurther}
      </Button>
    </Empty>
  );
}
