import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { PlanRequest } from "@/api/automationTypes";
import { previewPlan } from "@/api/automations";
import { keys } from "@/api/keys";

const PAUSE_MS = 900; // each preview simulates the plan on a node

/** Returns a value once it has stayed the same for a while. */
function useSettled(text: string | null): string | null {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** What the service says a plan would be; nothing is asked while `body` is null or changes. */
export function usePreview(body: PlanRequest | null) {
  const text = body === null ? null : JSON.stringify(body);
  const settled = useSettled(text);
  const query = useQuery({
    queryKey: [...keys.automations, "preview", settled],
    queryFn: ({ signal }) => previewPlan(JSON.parse(settled ?? "{}") as PlanRequest, signal),
    enabled: settled !== null && settled === text,
    retry: false,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    placeholderData: keepPreviousData,
  });
  return { query, isBehind: text !== null && (settled !== text || query.isFetching) };
}
