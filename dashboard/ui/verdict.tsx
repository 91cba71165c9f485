import { Alert } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** How a trial went. It stands in a status, which says it politely: an alert of its own would say it twice. */
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
