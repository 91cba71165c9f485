import { Container } from "@mantine/core";
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { type Failure, localFailure, toFailure } from "../failure.ts";
import { isMissingPart } from "../parts.ts";
import { words } from "../text/words.ts";
import { FailurePanel } from "../ui/failure-panel.tsx";

/** The error boundary of each route: says what failed, and offers to try again. */
export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  if (isMissingPart(error)) {
    const failure = localFailure("INTERNAL", words.partMissing);
    return <Boundary failure={failure} onRetry={() => location.reload()} />;
  }
  return (
    <Boundary
      failure={toFailure(error)}
      onRetry={() => {
        reset();
        void router.invalidate();
      }}
    />
  );
}

function Boundary(props: { failure: Failure; onRetry: () => void }) {
  return (
    <Container size="sm" py="xl">
      <FailurePanel {...props} />
    </Container>
  );
}
