import type { Token } from "@/api/networks";
import { useServedNetworks, useTokens } from "@/api/networks";
import type { Network } from "@/api/types";

/** The contracts of the native coin, which follow from the networks' ids. */
const NATIVE: Record<Network, string> = {
  "stellar:testnet": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
  "stellar:pubnet": "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA",
};

export type TokenOf = (asset: string) => Token;

export interface KnownToken {
  name: string;
  contract: string;
}

/** The tokens of a network whose decimals are known, and how amounts of any token are written. */
export function usePlanTokens(network: Network): { known: KnownToken[]; tokenOf: TokenOf } {
  const tokens = useTokens();
  const served = useServedNetworks();
  const usdc = served.find((each) => each.network === network)?.usdc;
  const native = NATIVE[network];
  return {
    known: [
      ...(usdc ? [{ name: usdc.code, contract: usdc.contract }] : []),
      { name: "XLM", contract: native },
    ],
    tokenOf: (asset) => tokens(network, asset === native ? "native" : asset),
  };
}
