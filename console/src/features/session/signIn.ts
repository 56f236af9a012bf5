import { call } from "@/api/client";
import { NETWORK_NAMES } from "@/api/networks";
import type { Owner } from "@/api/session";
import type { Network, Schema } from "@/api/types";
import { formatFull } from "@/ui/time";
import { readAccountChallenge } from "@/wallet/accountChallenge";
import type { Wallet } from "@/wallet/wallet";
import { connectOn, PASSPHRASES, WalletProblem } from "@/wallet/wallet";

/** The steps that a person waits for, in their order. */
export type Step = "connecting" | "challenge" | "signing" | "verifying";

export const STEP_SENTENCES: Record<Step, (wallet: string) => string> = {
  connecting: (wallet) => `Open ${wallet} and choose the account.`,
  challenge: () => "Asking the service for a challenge.",
  signing: (wallet) => `Confirm the sign-in in ${wallet}. It costs nothing and is never sent to the network.`,
  verifying: () => "The service verifies the signature.",
};

type Challenge = Schema<"ChallengeBody">;

/** The names of this machine: a service without a public address names the one that it listens on. */
const OWN_MACHINE = new Set(["127.0.0.1", "localhost", "::1", "0.0.0.0", "::"]);

/** A host without the brackets of an IPv6 address, which a page has and a domain may lack. */
const bare = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");

const isThisPage = (domain: string, { hostname }: Pick<Location, "hostname">): boolean =>
  bare(domain) === bare(hostname) || (OWN_MACHINE.has(bare(domain)) && OWN_MACHINE.has(bare(hostname)));

/**
 * Holds what the service says of a challenge against what was asked for: this network and account, and
 * the host that the person sees. Throws `WalletProblem`.
 */
export function requireAsked(
  challenge: Challenge,
  network: Network,
  address: string,
  page: Pick<Location, "hostname"> = location,
): void {
  const { homeDomain, webAuthDomain, networkPassphrase } = challenge;
  if (networkPassphrase !== PASSPHRASES[network] || challenge.address !== address) {
    throw new WalletProblem("failed", "The challenge is for another network or account. Nothing was signed.");
  }
  if (!isThisPage(homeDomain, page) || !isThisPage(webAuthDomain, page)) {
    throw new WalletProblem("undecodable", `The challenge signs in at ${webAuthDomain}, and this page is ${page.hostname}. Nothing was signed.`);
  }
}

/** What a signature of the challenge does, in sentences; `endsAt` in Unix seconds, where it is known. */
function statementsOf({ webAuthDomain, address }: Challenge, network: Network, endsAt: number | null): string[] {
  return [
    `Sign in at ${webAuthDomain} with the account ${address} on ${NETWORK_NAMES[network]}.`,
    endsAt === null
      ? "Nothing else: it authorizes no other call, and no token moves."
      : "Nothing else: its sequence number is 0, so no network takes it, and no token moves.",
    ...(endsAt === null ? [] : [`It can be used until ${formatFull(endsAt * 1000)}.`]),
  ];
}

/** Reads the challenge, tells what it is, and has the wallet sign it: a transaction, or an entry for a contract. */
async function signChallenge(wallet: Wallet, challenge: Challenge, network: Network, onRead: (statements: string[]) => void) {
  const { address, transactionXdr, authorizationEntriesXdr } = challenge;
  const request = { address, networkPassphrase: PASSPHRASES[network] };
  if (transactionXdr !== undefined) {
    const { endsAt } = readAccountChallenge(transactionXdr, challenge);
    onRead(statementsOf(challenge, network, endsAt));
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
  onRead(statementsOf(challenge, network, null));
  return { authorizationEntriesXdr: complete(await wallet.signAuthEntry(preimage, request)) };
}

/** A form that is open belongs to one account: a wallet that has switched must not take it away. */
function requireSame(wallet: Wallet, address: string, owner: Owner | null): void {
  if (owner === null || owner.address === address) return;
  const name = `${owner.address.slice(0, 4)}…${owner.address.slice(-4)}`;
  throw new WalletProblem("wrong_account", `${wallet.name} has another account than this page. Select ${name} in it and try again. What you typed stays.`);
}

interface SignInOptions {
  /** The account that has to sign in, where a page waits for it. */
  owner: Owner | null;
  /** `statements` are what the wallet signs, in words, once it is asked. */
  onStep: (step: Step, statements: string[]) => void;
}

/**
 * Signs a wallet in: SEP-10 for an account, SEP-45 for a contract. The session arrives as a cookie
 * that no script can read. What the wallet signs is read before.
 *
 * Throws `WalletProblem` where the wallet did not sign, `Undecodable` where it was not asked, and
 * `ApiError` where the service refused.
 */
export async function signIn(wallet: Wallet, network: Network, { owner, onStep }: SignInOptions): Promise<Owner> {
  onStep("connecting", []);
  const { address } = await connectOn(wallet, PASSPHRASES[network]);
  requireSame(wallet, address, owner);
  onStep("challenge", []);
  const challenge = await call("POST /v1/auth/challenge", { body: { network, address } });
  requireAsked(challenge, network, address);
  const signed = await signChallenge(wallet, challenge, network, (statements) => onStep("signing", statements));
  onStep("verifying", []);
  const body = { network, address, delivery: "cookie" as const, ...signed };
  const { user, expiresAt } = await call("POST /v1/auth/verify", { body });
  return { id: user.id, network, address, expiresAt };
}
