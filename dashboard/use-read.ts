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
  /** Not asked again because somebody comes back to it: for lists that are kept true without moving rows. */
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

/** Asks again whatever is shown of these routes; `params` narrows it to one thing. */
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

/** Those to ask again as soon as the answer on its way has come. */
const waiting = new WeakSet<Query>();

/**
 * An answer on its way is left to come: on a slow line, changes that each cancelled it would keep the
 * page from ever getting one. It may be older than this change, so it is asked for once more after it.
 */
function askOnceMore(client: QueryClient, query: Query): void {
  if (query.state.fetchStatus === "idle") {
    return void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
  }
  if (waiting.has(query)) return;
  waiting.add(query);
  const goOn = () => {
    waiting.delete(query);
    askOnceMore(client, query);
  };
  query.promise?.then(goOn, goOn);
}

function holds(input: unknown, params: Record<string, string>): boolean {
  const given = (input as { params?: Record<string, string> }).params ?? {};
  return Object.entries(params).every(([name, value]) => given[name] === value);
}
