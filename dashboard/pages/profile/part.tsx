import { Divider, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
      <Divider mt="xl" />
    </section>
  );
}
