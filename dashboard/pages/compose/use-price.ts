import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NewMessage } from "#contract";
import { type Answer, call } from "../../api.ts";
import { type Failure, offline, toFailure } from "../../failure.ts";
import { useAccount } from "../../session.ts";

const TYPING_MS = 300;

export type Price = {
  /** What the service says of exactly this message; undefined while it is asked. */
  preview: Answer<"POST /console/accounts/{accountId}/messages/preview"> | undefined;
  failure: Failure | undefined;
  retry: () => void;
  /** The carrier of the last number that had one. */
  carrier: Answer<"POST /console/accounts/{accountId}/messages/preview">["carrier"] | undefined;
};

/** Asks the service what the message would cost, a moment after the last key. */
export function usePrice(fields: NewMessage | undefined): Price {
  const { accountId } = useAccount();
  const [settled] = useDebouncedValue(fields, TYPING_MS);
  const isSettled = JSON.stringify(settled) === JSON.stringify(fields);
  const query = useQuery({
    queryKey: ["price", accountId, settled],
    queryFn: ({ signal }) =>
      call(
        "POST /console/accounts/{accountId}/messages/preview",
        { params: { accountId }, body: settled as NewMessage },
        { signal },
      ),
    enabled: settled !== undefined,
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
    carrier: query.data?.carrier,
  };
}

/** Only the method is that of a write: without an answer, nothing has happened all the same. */
function asked(failure: Failure): Failure {
  return failure.code === "OFFLINE" ? offline("GET") : failure;
}
