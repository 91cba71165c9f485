import {
  keepPreviousData,
  queryOptions,
  useQuery,
  type QueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import { type Answer, call, type Input, type ReadRoute } from "./api.ts";
import { type Failure, toFailure } from "./failure.ts";

export type Read<Data> = {
  data: Data | undefined;
  failure: Failure | undefined;
  /** What is shown belongs to the question before; the answer to this one is on its way. */
  isStale: boolean;
  retry: () => void;
};

/** A question to the API, kept under its route and input, so that a live event can ask it again. */
export function readOptions<R extends ReadRoute>(route: R, input: Input<R>) {
  return queryOptions<Answer<R>, Failure>({
    queryKey: [route, input],
    queryFn: ({ signal }) => call<R>(route, input, { signal }),
  });
}

type Options = {
  /** Whether to ask at all. */
  isOn?: boolean;
  /** Shows the old answer while a new question is asked: for pages of a list. */
  keepsOld?: boolean;
};

export function useRead<R extends ReadRoute>(
  route: R,
  input: Input<R>,
  { isOn = true, keepsOld = false }: Options = {},
): Read<Answer<R>> {
  const result: UseQueryResult<Answer<R>, Failure> = useQuery({
    ...readOptions<R>(route, input),
    enabled: isOn,
    ...(keepsOld ? { placeholderData: keepPreviousData } : {}),
  });
  return {
    data: result.data,
    failure: result.error ? toFailure(result.error) : undefined,
    isStale: result.isPlaceholderData,
    retry: () => void result.refetch(),
  };
}

/** Asks again whatever is shown of these routes; `params` narrows it to one thing. */
export function askAgain(
  client: QueryClient,
  routes: readonly ReadRoute[],
  params?: Record<string, string>,
): void {
  void client.invalidateQueries({
    predicate: ({ queryKey: [route, input] }) =>
      routes.includes(route as ReadRoute) && (params === undefined || holds(input, params)),
  });
}

function holds(input: unknown, params: Record<string, string>): boolean {
  const given = (input as { params?: Record<string, string> }).params ?? {};
  return Object.entries(params).every(([name, value]) => given[name] === value);
}
