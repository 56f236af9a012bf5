import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./errors";

const isWorthAnother = (error: unknown): boolean =>
  error instanceof ApiError && error.isOutage && error.retryAfterSeconds === null;

/**
 * Makes the cache of what the service answered.
 *
 * A read that met an outage is tried once more; a change never, because it may have happened.
 * Nothing is read again while the tab is hidden, and nothing waits for a later connection.
 */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        networkMode: "always",
        staleTime: 10_000,
        retry: (count, error) => count < 1 && isWorthAnother(error),
        retryDelay: 700,
        refetchIntervalInBackground: false,
        refetchOnReconnect: true,
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
}
