import { call } from "@/api/client";
import type { Owner } from "@/api/session";
import type { Network, Schema } from "@/api/types";
import type { Wallet } from "@/wallet/wallet";
import { connectOn, WalletProblem } from "@/wallet/wallet";

/** The steps that a person waits for, in their order. */
export type Step = "connecting" | "challenge" | "signing" | "verifying";

export const STEP_SENTENCES: Record<Step, (wallet: string) => string> = {
  connecting: (wallet) => `Open ${wallet} and choose the account.`,
  challenge: () => "Asking the service for a challenge.",
  signing: (wallet) => `Confirm the sign-in in ${wallet}. It costs nothing and is never sent to the network.`,
  verifying: () => "The service verifies the signature.",
};

const PASSPHRASES: Record<Network, string> = {
  "stellar:testnet": "Test SDF Network ; September 2015",
  "stellar:pubnet": "Public Global Stellar Network ; September 2015",
};

/** Has the wallet sign: a transaction for an account, an authorization entry for a contract. */
async function signChallenge(wallet: Wallet, challenge: Schema<"ChallengeBody">) {
  const { address, networkPassphrase, transactionXdr, authorizationEntriesXdr } = challenge;
  const request = { address, networkPassphrase };
  if (transactionXdr !== undefined) {
    return { transactionXdr: await wallet.signTransaction(transactionXdr, request) };
  }
  if (!wallet.canSignEntries || authorizationEntriesXdr === undefined) {
    throw new WalletProblem(
      "cannot_sign_entries",
      `${wallet.name} signs no authorization entries, so it cannot sign in with a contract account. Use another wallet.`,
    );
  }
  const { readContractChallenge } = await import("@/wallet/contractChallenge");
  const { preimage, complete } = await readContractChallenge(authorizationEntriesXdr, challenge);
  return { authorizationEntriesXdr: complete(await wallet.signAuthEntry(preimage, request)) };
}

/**
 * Signs a wallet in: SEP-10 for an account, SEP-45 for a contract. The session arrives as a cookie
 * that no script can read.
 *
 * Throws `WalletProblem` where the wallet did not sign and `ApiError` where the service refused.
 */
export async function signIn(
  wallet: Wallet,
  network: Network,
  onStep: (step: Step) => void,
): Promise<Owner> {
  onStep("connecting");
  const { address } = await connectOn(wallet, PASSPHRASES[network]);
  onStep("challenge");
  const challenge = await call("POST /v1/auth/challenge", { body: { network, address } });
  if (challenge.networkPassphrase !== PASSPHRASES[network] || challenge.address !== address) {
    throw new WalletProblem("failed", "The challenge is for another network or account. Nothing was signed.");
  }
  onStep("signing");
  const signed = await signChallenge(wallet, challenge);
  onStep("verifying");
  const body = { network, address, delivery: "cookie" as const, ...signed };
  const { user, expiresAt } = await call("POST /v1/auth/verify", { body });
  return { id: user.id, network, address, expiresAt };
}
