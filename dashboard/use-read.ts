import {
  keepPreviousData,
  queryOptions,
  type Query,
  type QueryClient,
  type QueryFilters,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { type Answer, call, type Input, type ReadRoute } from "./api.ts";
import { nowMs } from "./clock.ts";
import { type Failure, toFailure } from "./failure.ts";

export type Read<Data> = {
  data: Data | undefined;
  failure: Failure | undefined;
  /** The data answers the previous question; the answer to the present one is on its way. */
  isStale: boolean;
  retry: () => void;
};

/** A question to the API, cached under its route and input, so that a live event can ask again. */
export function readOptions<R extends ReadRoute>(route: R, input: Input<R>) {
  return queryOptions<Answer<R>, Failure>({
    queryKey: [route, input],
    queryFn: ({ signal }) => call<R>(route, input, { signal }),
  });
}

type Options = {
  /** Whether to ask at all. */
  isOn?: boolean;
  /** Keeps showing the old answer during a new question: for pages of a list. */
  keepsOld?: boolean;
  /** Not asked again when somebody returns to it: for lists that are kept up to date in place. */
  staysPut?: boolean;
};

export function useRead<R extends ReadRoute>(
  route: R,
  input: Input<R>,
  { isOn = true, keepsOld = false, staysPut = false }: Options = {},
): Read<Answer<R>> {
  const result: UseQueryResult<Answer<R>, Failure> = useQuery({
    ...readOptions<R>(route, input),
    enabled: isOn,
    ...(keepsOld ? { placeholderData: keepPreviousData } : {}),
    ...(staysPut ? { refetchOnWindowFocus: false, refetchOnReconnect: false } : {}),
  });
  return {
    data: result.data,
    failure: result.error ? toFailure(result.error) : undefined,
    isStale: result.isPlaceholderData,
    retry: () => void result.refetch(),
  };
}

/** Asks again for whatever is shown of these routes; `params` narrows it to one thing. */
export function askAgain(
  client: QueryClient,
  routes: readonly ReadRoute[],
  params?: Record<string, string>,
): void {
  askAgainAll(client, {
    predicate: ({ queryKey: [route, input] }) =>
      routes.includes(route as ReadRoute) && (params === undefined || holds(input, params)),
  });
}

export function askAgainAll(client: QueryClient, filters: QueryFilters): void {
  for (const query of client.getQueryCache().findAll(filters)) askOnceMore(client, query);
}

/** Queries to ask again once their pending answer has come, or a while after they failed. */
const waiting = new WeakSet<Query>();

/** A failure is shown at least this long. */
const REST_MS = 3_000;

/**
 * Lets a pending answer arrive: on a slow line, if every change canceled it, the page would never
 * get one. As it may be older than this change, asks once more after it. After a failure, not at
 * once: amid many changes nobody would see it, nor would the service get the rest it asks for.
 */
function askOnceMore(client: QueryClient, query: Query): void {
  if (waiting.has(query)) return;
  const goOn = () => {
    waiting.delete(query);
    askOnceMore(client, query);
  };
  if (query.state.fetchStatus !== "idle") {
    waiting.add(query);
    return void query.promise?.then(goOn, goOn);
  }
  const restMs = restOf(query);
  if (restMs > 0) {
    waiting.add(query);
    return void setTimeout(goOn, restMs);
  }
  void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
}

function restOf({ state: { error, errorUpdatedAt } }: Query): number {
  if (!error) return 0;
  const { retryAfterSeconds = 0 } = toFailure(error);
  return errorUpdatedAt + Math.max(REST_MS, retryAfterSeconds * 1_000) - nowMs();
}

function holds(input: unknown, params: Record<string, string>): boolean {
  const given = (input as { params?: Record<string, string> }).params ?? {};
  return Object.entries(params).every(([name, value]) => given[name] === value);
}
