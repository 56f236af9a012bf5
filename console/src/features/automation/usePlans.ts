import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Plan, PlanDetail, Run } from "@/api/automationTypes";
import type { PlanQuery } from "@/api/automations";
import { judgePlan, listPlans, listRuns, readCredits, readPlan, readRun } from "@/api/automations";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { mayMove } from "./planStates";
import { isOpenRun } from "./runStates";

const SOON_MS = 5_000;
const LATER_MS = 20_000;
const NEAR_MS = 120_000;
const MOST_FOLLOWED = 100; // rows: a longer list is not read again by itself

/** The plans of the filters, newest first. */
export function usePlans(filters: PlanQuery) {
  return useCursorList<Plan>([...keys.automations, "list", filters], (cursor, signal) => listPlans(filters, cursor, signal));
}

const planKey = (id: string) => [...keys.automations, "one", id];

/** One plan, read again while its state may change by itself. */
export function usePlan(id: string) {
  return useQuery({
    queryKey: planKey(id),
    queryFn: ({ signal }) => readPlan(id, signal),
    refetchInterval: ({ state: { data } }) => {
      if (!data || !mayMove(data.proposal)) return false;
      const [next] = data.proposal.nextRuns;
      const isFar = next !== undefined && Date.parse(next.at) - Date.now() > NEAR_MS;
      return data.proposal.status === "active" && isFar ? LATER_MS : SOON_MS;
    },
  });
}

/** Returns what takes over a plan that a change returned, and has what depends on it read again. */
export function usePlanChanged(): (detail: Partial<PlanDetail> & { proposal: Plan }) => void {
  const client = useQueryClient();
  return (detail) => {
    const before = client.getQueryData<PlanDetail>(planKey(detail.proposal.id));
    const empty = { quote: null, session: null, preflight: null };
    client.setQueryData<PlanDetail>(planKey(detail.proposal.id), { ...empty, ...before, ...detail });
    void client.invalidateQueries({ queryKey: keys.automations });
    void client.invalidateQueries({ queryKey: keys.audit });
  };
}

/** The checks of a plan's first run; they are made by a click and never by themselves. */
export function usePreflight(id: string) {
  return useQuery({
    queryKey: ["plan-preflight", id],
    queryFn: ({ signal }) => judgePlan(id, signal),
    enabled: false,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The runs of a plan, newest first; read again while one is under way or the plan is active. */
export function useRuns(plan: Plan) {
  return useCursorList<Run>([...keys.automations, "runs", plan.id], (cursor, signal) => listRuns(plan.id, cursor, signal), {
    refetchInterval: mayMove(plan) && plan.runsConsumed <= MOST_FOLLOWED ? SOON_MS : false,
  });
}

export function useRun(id: string, index: number) {
  return useQuery({
    queryKey: [...keys.automations, "run", id, index],
    queryFn: ({ signal }) => readRun(id, index, signal),
    refetchInterval: ({ state: { data } }) => (data?.legs.some(isOpenRun) ? SOON_MS : false),
  });
}

export function useCredits() {
  return useQuery({ queryKey: [...keys.automations, "credits"], queryFn: ({ signal }) => readCredits(signal) });
}
