import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { useNow } from "@/ui/Time";
import type { PaymentFilters } from "./paymentFilters";
import { queryOf } from "./paymentFilters";
import type { Payment } from "./paymentState";
import { isOpen } from "./paymentState";

const LIST_MS = 5_000;
const SOON_MS = 2_000;
const LATER_MS = 15_000;
const SOON_FOR_MS = 120_000;
const MOST_FOLLOWED = 100; // rows: a longer list is not read again by itself

export const fetchPayments = (filters: PaymentFilters) => (cursor: string | undefined, signal: AbortSignal) =>
  call("GET /v1/payments", { query: { ...queryOf(filters), limit: 100, ...(cursor ? { cursor } : {}) } }, { signal });

/** The payments of the filters, newest first; read again while one of them is pending. */
export function usePayments(filters: PaymentFilters) {
  const client = useQueryClient();
  const queryKey = [...keys.payments, "list", queryOf(filters)];
  const list = useCursorList<Payment>(queryKey, fetchPayments(filters));
  const isFollowed =
    list.data !== undefined && list.data.length <= MOST_FOLLOWED && list.data.some((each) => each.state === "pending");
  const id = JSON.stringify(queryKey);
  useEffect(() => {
    if (!isFollowed) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void client.invalidateQueries({ queryKey: JSON.parse(id) as unknown[] });
    }, LIST_MS);
    return () => clearInterval(timer);
  }, [client, id, isFollowed]);
  return list;
}

/** One payment, read again while its state may change by itself. */
export function usePayment(transaction: string) {
  const now = useNow();
  return useQuery({
    queryKey: [...keys.payments, "one", transaction],
    queryFn: ({ signal }) => call("GET /v1/payments/{transaction}", { path: { transaction } }, { signal }),
    refetchInterval: ({ state: { data } }) => {
      if (!data || !isOpen(data.state)) return false;
      return data.state === "pending" && now - Date.parse(data.sentAt) < SOON_FOR_MS ? SOON_MS : LATER_MS;
    },
  });
}
