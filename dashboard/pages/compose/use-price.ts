import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NewMessage } from "#contract";
import { type Answer, call } from "../../api.ts";
import { type Failure, offline, toFailure } from "../../failure.ts";
import { SAMPLE_RECIPIENT, SAMPLE_TEXT } from "../../samples.ts";
import { useAccount } from "../../session.ts";

const TYPING_MS = 300;

export type Price = {
  /** What the service says of exactly this message; undefined while it is asked. */
  preview: Answer<"POST /console/accounts/{accountId}/messages/preview"> | undefined;
  failure: Failure | undefined;
  retry: () => void;
  /** Whether there is a message to price. */
  isAsked: boolean;
  /** The carrier of the last number that had one; before there is any, that of the samples' number. */
  carrier: Answer<"POST /console/accounts/{accountId}/messages/preview">["carrier"] | undefined;
};

const SAMPLE: NewMessage = { recipient: SAMPLE_RECIPIENT, text: SAMPLE_TEXT };

/** Asks the service what the message would cost, a moment after the last key. */
export function usePrice(fields: NewMessage | undefined, isAllowed: boolean): Price {
  const { accountId } = useAccount();
  const [settled] = useDebouncedValue(fields, TYPING_MS);
  const isSettled = JSON.stringify(settled) === JSON.stringify(fields);
  const query = useQuery({
    queryKey: ["price", accountId, settled ?? SAMPLE],
    queryFn: ({ signal }) =>
      call(
        "POST /console/accounts/{accountId}/messages/preview",
        { params: { accountId }, body: settled ?? SAMPLE },
        { signal },
      ),
    enabled: isAllowed,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
  });
  // A number that belongs to another text is worse than none.
  const isCurrent = isSettled && !query.isPlaceholderData && fields !== undefined;
  return {
    preview: isCurrent && !query.error ? query.data : undefined,
    failure: isCurrent && query.error ? asked(toFailure(query.error)) : undefined,
    retry: () => void query.refetch(),
    isAsked: fields !== undefined,
    carrier: query.data?.carrier,
  };
}

/** Only the method is that of a write: without an answer, nothing has happened all the same. */
function asked(failure: Failure): Failure {
  return failure.code === "OFFLINE" ? offline("GET") : failure;
}
