import type { Network } from "@/api/types";
import { addDays, isDay } from "@/ui/days";
import { STATES } from "@/ui/paymentStates";
import type { State } from "./paymentState";

export const ROLES = {
  received: "Received",
  paid: "Paid",
  settled: "Settled for you",
} as const;

export type Role = keyof typeof ROLES;

/** What a list of payments shows; the days are UTC, both included. */
export interface PaymentFilters {
  role: Role;
  network: Network;
  state: State | null;
  wrapper: string | null;
  from: string | null;
  to: string | null;
}

const isIn = <Name extends string>(record: Record<Name, unknown>, text: string | undefined): text is Name =>
  text !== undefined && Object.hasOwn(record, text);
const dayIn = (text: string | undefined): string | null => (text !== undefined && isDay(text) ? text : null);

/**
 * Reads the filters of a page's address; what is no filter is left out. What a wallet received or paid is
 * shown on its own network (`otherwise`): what was settled for it, on each.
 */
export function readFilters(
  address: Record<string, string | undefined>,
  networks: readonly Network[],
  otherwise: Network,
): PaymentFilters {
  const role = isIn(ROLES, address["role"]) ? address["role"] : "received";
  const named = networks.find((each) => each === address["network"]);
  return {
    role,
    network: role === "settled" && named ? named : otherwise,
    state: isIn(STATES, address["state"]) ? address["state"] : null,
    wrapper: /^wrp_[0-9A-Za-z]{22}$/.test(address["wrapper"] ?? "") ? (address["wrapper"] ?? null) : null,
    from: dayIn(address["from"]),
    to: dayIn(address["to"]),
  };
}

/** The query of `GET /v1/payments` for some filters. */
export function queryOf({ role, network, state, wrapper, from, to }: PaymentFilters) {
  return {
    role,
    network,
    ...(state === null ? {} : { state }),
    ...(wrapper === null ? {} : { wrapper }),
    ...(from === null ? {} : { since: `${from}T00:00:00Z` }),
    ...(to === null ? {} : { until: `${addDays(to, 1)}T00:00:00Z` }),
  };
}

/** Whether a filter beside role and network leaves payments out. */
export const isNarrowed = ({ state, wrapper, from, to }: PaymentFilters): boolean =>
  [state, wrapper, from, to].some((each) => each !== null);
