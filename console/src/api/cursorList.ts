import { useInfiniteQuery } from "@tanstack/react-query";
import type { QueryKey } from "@tanstack/react-query";

interface CursorPage<Item> {
  items: Item[];
  pagination: { nextCursor: string | null };
}

interface CursorListOptions {
  /** How often the first pages are read again, in milliseconds; not in a hidden tab. */
  refetchInterval?: number | false;
  isEnabled?: boolean;
}

const MOST_PAGES_REREAD = 3;

export interface CursorList<Item> {
  /** The items of all pages that were read; undefined before the first. */
  data: Item[] | undefined;
  error: unknown;
  refetch: () => unknown;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** Reads a list that is paged by cursor, a page at a time; what was read stays. */
export function useCursorList<Item>(
  queryKey: QueryKey,
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<Item>>,
  { refetchInterval = false, isEnabled = true }: CursorListOptions = {},
): CursorList<Item> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.pagination.nextCursor ?? undefined,
    refetchInterval,
    enabled: isEnabled,
    // A long list would be read again page by page.
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= MOST_PAGES_REREAD,
  });
  return {
    data: query.data?.pages.flatMap((page) => page.items),
    error: query.error,
    refetch: query.refetch,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}
