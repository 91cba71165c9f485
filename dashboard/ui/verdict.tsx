import { Alert } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** The result of a trial. Put it in a status; an alert would be announced twice. */
export function Verdict({ isGood, children }: { isGood: boolean; children: ReactNode }) {
  return (
    <Alert
      role="presentation"
      color={isGood ? "teal" : "red"}
      variant="outline"
      p="xs"
      icon={isGood ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
    >
      {children}
    </Alert>
  );
}
