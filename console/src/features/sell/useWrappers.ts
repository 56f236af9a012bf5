import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import type { Schema } from "@/api/types";
import type { Wrapper } from "./wrapperDraft";

export type Check = Schema<"CheckBody">;

const CHECK_SECONDS = 40;

export function useWrappers() {
  return useCursorList<Wrapper>([...keys.wrappers, "list"], (cursor, signal) =>
    call("GET /v1/wrappers", { query: { limit: 20, ...(cursor ? { cursor } : {}) } }, { signal }),
  );
}

export function useWrapper(id: string) {
  return useQuery({
    queryKey: [...keys.wrappers, "one", id],
    queryFn: ({ signal }) => call("GET /v1/wrappers/{id}", { path: { id } }, { signal }),
  });
}

/** Returns what takes over a wrapper that a change returned, and has its lists read again. */
export function useWrapperChanged(): (wrapper: Wrapper) => void {
  const client = useQueryClient();
  return (wrapper) => {
    client.setQueryData([...keys.wrappers, "one", wrapper.id], wrapper);
    void client.resetQueries({ queryKey: ["wrapper-check", wrapper.id] });
    void client.invalidateQueries({ queryKey: keys.wrappers });
    void client.invalidateQueries({ queryKey: keys.listings });
    void client.invalidateQueries({ queryKey: keys.audit });
  };
}

/** The result of the last check of a wrapper; it is made by a click and never by itself. */
export function useCheck(id: string) {
  return useQuery({
    queryKey: ["wrapper-check", id],
    queryFn: ({ signal }) =>
      call("POST /v1/wrappers/{id}/check", { path: { id } }, { signal, deadlineSeconds: CHECK_SECONDS }),
    enabled: false,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The analytics of some days. With a limit of 1 nearly all of the answer is the sums. */
export function useAnalytics(id: string, days: number) {
  return useQuery({
    queryKey: [...keys.wrappers, "analytics", id, days],
    queryFn: ({ signal }) =>
      call("GET /v1/wrappers/{id}/analytics", { path: { id }, query: { days, limit: 1 } }, { signal }),
    staleTime: 30_000,
  });
}
