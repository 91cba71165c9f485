import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Answer, call } from "../../api.ts";
import { type Failure, fieldErrors, toFailure } from "../../failure.ts";
import { SAMPLE_RECIPIENT, SAMPLE_TEXT } from "../../samples.ts";
import { useAccount } from "../../session.ts";
import type { ComposeFields } from "./compose-fields.ts";

const TYPING_MS = 300;

export type Price = {
  /** The service's answer for exactly this message; undefined until it comes. */
  preview: Answer<"POST /console/accounts/{accountId}/messages/preview"> | undefined;
  failure: Failure | undefined;
  /** What is wrong with the number, even before there is a message to price. */
  wrongNumber: string | undefined;
  retry: () => void;
  /** Whether there is a message to price. */
  isAsked: boolean;
  /**
   * The number if it goes to the simulator. Before one is typed, that is the sample's; while it is
   * invalid, as during typing, the last valid one.
   */
  simulated: string | undefined;
  /** Whether `simulated` is not known yet. */
  isPending: boolean;
};

/** Asks the service for the message's price, a moment after the last key press. */
export function usePrice({ message, recipient }: ComposeFields, isAllowed: boolean): Price {
  const { accountId } = useAccount();
  // Without a text there is no price, but the number's carrier can still be found.
  const fields = message ?? { recipient: recipient || SAMPLE_RECIPIENT, text: SAMPLE_TEXT };
  const [settled] = useDebouncedValue(fields, TYPING_MS);
  const isSettled = JSON.stringify(settled) === JSON.stringify(fields);
  const query = useQuery({
    queryKey: ["price", accountId, settled],
    queryFn: async ({ signal }) => {
      const preview = await call(
        "POST /console/accounts/{accountId}/messages/preview",
        { params: { accountId }, body: settled },
        { signal, onlyReads: true },
      );
      return { preview, recipient: settled.recipient };
    },
    enabled: isAllowed,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
  });
  // A price that belongs to another text is worse than none.
  const isAnswered = isSettled && !query.isPlaceholderData;
  const isCurrent = isAnswered && message !== undefined;
  const known = query.error ? undefined : query.data;
  const refusal = query.error ? toFailure(query.error) : undefined;
  const wrongNumber = refusal && fieldErrors(refusal, ["recipient"]).fields["recipient"];
  const simulated = known?.preview.carrier?.kind === "simulator" ? known.recipient : undefined;
  const [lastSimulated, setLastSimulated] = useState(simulated);
  if (known && simulated !== lastSimulated) setLastSimulated(simulated);
  return {
    preview: isCurrent ? known?.preview : undefined,
    failure: isCurrent ? refusal : undefined,
    wrongNumber: isAnswered ? wrongNumber : undefined,
    retry: () => void query.refetch(),
    isAsked: message !== undefined,
    simulated: wrongNumber === undefined ? simulated : lastSimulated,
    isPending: isAllowed && query.isPending,
  };
}
