import type { PlanQuery } from "@/api/automations";
import { KINDS, STATUSES } from "./planStates";

const isIn = (record: object, text: string | undefined): text is string => text !== undefined && Object.hasOwn(record, text);

/** Reads the filters of the page's address; what is no filter is left out. */
export function readFilters(address: Record<string, string | undefined>): PlanQuery {
  return {
    ...(isIn(STATUSES, address["status"]) ? { status: address["status"] } : {}),
    ...(isIn(KINDS, address["kind"]) ? { kind: address["kind"] } : {}),
  };
}

export const isNarrowed = (filters: PlanQuery): boolean => Object.keys(filters).length > 0;
export const NO_FILTERS = { status: undefined, kind: undefined };
