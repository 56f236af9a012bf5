import { albedo } from "./albedo";
import { freighter } from "./freighter";
import type { Wallet } from "./wallet";

/** The wallets that the console knows, the one to try first at the top. */
export const WALLETS: readonly Wallet[] = [freighter, albedo];

const STORED = "farebox.wallet";

/** Remembers which wallet signed in; no address and no key is kept. */
export function rememberWallet(wallet: Wallet): void {
  try {
    localStorage.setItem(STORED, wallet.id);
  } catch {
    // storage is switched off: the first wallet is offered again
  }
}

/** The wallet that signed in last in this browser, else the first. */
export function chosenWallet(): Wallet {
  let id: string | null = null;
  try {
    id = localStorage.getItem(STORED);
  } catch {
    id = null;
  }
  return WALLETS.find((each) => each.id === id) ?? freighter;
}
