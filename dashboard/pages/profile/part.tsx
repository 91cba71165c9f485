import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./part.module.css";

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={classes["part"]}>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
    </section>
  );
}
