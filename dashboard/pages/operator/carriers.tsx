import { Code, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { Suspense, useState } from "react";
import type { Carrier } from "#contract";
import { formatNumber } from "../../format.ts";
import { part } from "../../parts.ts";
import { carriersText as text } from "../../text/operator.ts";
import { words } from "../../text/words.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { useIsLate } from "../../ui/listing.tsx";
import { useRead } from "../../use-read.ts";
import { CarrierCard } from "./carrier-card.tsx";

const EditCarrier = part(() => import("./edit-carrier.tsx"), "EditCarrier");

export function CarriersPage() {
  // Kept here, not in the card: if the carrier is removed, what was typed must not vanish with it.
  const [edited, setEdited] = useState<Carrier>();
  const carriers = useRead("GET /console/operator/carriers", {});
  if (carriers.failure && !carriers.data) {
    return <FailurePanel failure={carriers.failure} onRetry={carriers.retry} />;
  }
  if (!carriers.data) return <LoadingCards />;
  const { data, parkedReceipts } = carriers.data;
  const isOnlySimulator = data.every(({ kind }) => kind === "simulator");
  return (
    <Stack gap="lg">
      {carriers.failure && <FailurePanel failure={carriers.failure} onRetry={carriers.retry} />}
      {parkedReceipts > 0 && (
        <Text size="sm">{text.parked(parkedReceipts, formatNumber(parkedReceipts))}</Text>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {data.map((carrier) => (
          <CarrierCard
            key={carrier.carrierId}
            carrier={carrier}
            onEdit={() => setEdited(carrier)}
          />
        ))}
      </SimpleGrid>
      {isOnlySimulator && <OnlySimulator />}
      <Suspense>
        {edited && (
          <EditCarrier
            carrier={edited}
            isGone={!data.some(({ carrierId }) => carrierId === edited.carrierId)}
            onClose={() => setEdited(undefined)}
          />
        )}
      </Suspense>
    </Stack>
  );
}

function LoadingCards() {
  const isLate = useIsLate();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} mih={330} role="status" aria-label={words.loading}>
      {isLate && <Skeleton height={330} />}
      {isLate && <Skeleton height={330} />}
    </SimpleGrid>
  );
}

function OnlySimulator() {
  return (
    <Stack gap="xs" align="flex-start">
      <Text fw={600}>{text.onlySimulator}</Text>
      <Text size="sm">{text.onlySimulatorHint}</Text>
      <Code block translate="no" style={{ whiteSpace: "pre-wrap" }}>
        {text.addCommand}
      </Code>
      <CopyButton text={text.addCommand} label={text.copyCommand} size="xs" />
    </Stack>
  );
}
