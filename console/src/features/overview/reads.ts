import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import type { Network, Schema } from "@/api/types";
import type { Payment } from "./figures";

const PAGE = 100;
/** Pages that are added up: the figures say so where there are more. */
const MOST_PAGES = 10;
const MOST_WRAPPERS = 10;

export interface Payments {
  items: Payment[];
  /** Whether there are older ones in the period that were not read. */
  isPartial: boolean;
}

type Role = "received" | "paid";

async function readPayments(role: Role, network: Network, since: string, signal: AbortSignal): Promise<Payments> {
  const items: Payment[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { role, network, since, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const found: Schema<"PaymentListBody"> = await call("GET /v1/payments", { query }, { signal });
    items.push(...found.items);
    cursor = found.pagination.nextCursor;
    if (cursor === null) return { items, isPartial: false };
  }
  return { items, isPartial: true };
}

/** The payments that a wallet received or made since a moment. */
export const paymentsQuery = (role: Role, network: Network, since: string) =>
  queryOptions({
    queryKey: [...keys.payments, "overview", role, network, since],
    queryFn: ({ signal }) => readPayments(role, network, since, signal),
    staleTime: 30_000,
  });

export const wrappersQuery = queryOptions({
  queryKey: [...keys.wrappers, "overview"],
  queryFn: ({ signal }) => call("GET /v1/wrappers", { query: { limit: PAGE } }, { signal }),
  staleTime: 30_000,
});

/** The analytics of the first wrappers, by day. */
export const analyticsQuery = (ids: readonly string[], days: number) =>
  queryOptions({
    queryKey: [...keys.wrappers, "overview", "analytics", ids, days],
    queryFn: ({ signal }) =>
      Promise.all(
        ids
          .slice(0, MOST_WRAPPERS)
          .map((id) => call("GET /v1/wrappers/{id}/analytics", { path: { id }, query: { days, limit: 1 } }, { signal })),
      ),
    enabled: ids.length > 0,
    staleTime: 30_000,
  });

export const healthQuery = queryOptions({
  queryKey: keys.health,
  queryFn: ({ signal }) => call("GET /health/ready", {}, { signal }),
  refetchInterval: 30_000,
  retry: false,
});
