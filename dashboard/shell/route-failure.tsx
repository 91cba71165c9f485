import { Container } from "@mantine/core";
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { toFailure } from "../failure.ts";
import { FailurePanel } from "../ui/failure-panel.tsx";

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
