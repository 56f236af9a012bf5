import { queryOptions, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { call } from "./client";
import { keys } from "./keys";
import { useOwner } from "./session";
import type { Network, Schema } from "./types";

export type NetworkState = Schema<"NetworkBody">;

export const NETWORK_NAMES: Record<Network, string> = {
  "stellar:testnet": "Testnet",
  "stellar:pubnet": "Pubnet",
};

export const networksQuery = queryOptions({
  queryKey: keys.networks,
  queryFn: ({ signal }) => call("GET /v1/networks", {}, { signal }),
  staleTime: 30_000,
});

/** The networks that this service serves, pubnet first. */
export function useServedNetworks(): NetworkState[] {
  const { data } = useQuery(networksQuery);
  return (data?.networks ?? []).filter((each) => each.isServed);
}

const STORED = "farebox.network";
const listeners = new Set<() => void>();
let chosen: string | null = null;

function readChosen(): string | null {
  if (chosen === null) {
    try {
      chosen = localStorage.getItem(STORED);
    } catch {
      chosen = null;
    }
  }
  return chosen;
}

/** Remembers the network that a person without a session looks at. */
export function chooseNetwork(network: Network): void {
  chosen = network;
  try {
    localStorage.setItem(STORED, network);
  } catch {
    // storage is switched off: the choice lasts as long as the page
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The network of the pages: the session's, else the chosen one, else the first that is served. */
export function useNetwork(): Network {
  const owner = useOwner();
  const stored = useSyncExternalStore(subscribe, readChosen);
  const served = useServedNetworks();
  if (owner) return owner.network;
  const found = served.find((each) => each.network === stored) ?? served[0];
  return found?.network ?? "stellar:testnet";
}

/** A token as an amount needs it: `decimals` is null while they are not known. */
export interface Token {
  code: string | null;
  decimals: number | null;
}

const NATIVE: Token = { code: "XLM", decimals: 7 };

/** Returns how amounts of an asset are written: USDC of the networks and the native coin. */
export function useTokens(): (network: string, asset: string) => Token {
  const { data } = useQuery(networksQuery);
  return (network, asset) => {
    if (asset === "native") return NATIVE;
    const usdc = data?.networks.find((each) => each.network === network)?.usdc;
    if (usdc?.contract === asset) return { code: usdc.code, decimals: 7 };
    return { code: null, decimals: null };
  };
}
