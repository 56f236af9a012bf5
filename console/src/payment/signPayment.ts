import { call } from "@/api/client";
import { ApiError } from "@/api/errors";
import { NETWORK_NAMES } from "@/api/networks";
import { asRecord } from "@/api/records";
import type { Network } from "@/api/types";
import { formatUnits } from "@/ui/money";
import { formatFull } from "@/ui/time";
import { isAtLeast } from "@/ui/units";
import type { Wallet } from "@/wallet/wallet";
import { connectOn, PASSPHRASES, WalletProblem } from "@/wallet/wallet";
import { readLedger } from "./ledger";
import type { Completion } from "./signedPayment";
import type { Review, Terms, TokenName } from "./terms";

/** What the wallet would sign is not the price on the page. Nothing was signed. */
export class DiffersFromPrice extends Error {
  readonly differences: string[];
  constructor(differences: string[]) {
    super("What the service prepared is not the price on this page. Nothing was signed.");
    this.name = "DiffersFromPrice";
    this.differences = differences;
  }
}

/** Refuses a payer who cannot pay. An outage of this read refuses nothing: the ledger decides. */
async function checkBalance(terms: Terms, payer: string, token: TokenName): Promise<void> {
  const path = { network: terms.network, address: payer };
  let balances;
  try {
    ({ balances } = await call("GET /v1/accounts/{network}/{address}", { path, query: { asset: terms.asset } as never }));
  } catch (error) {
    if (error instanceof ApiError && error.code === "account_not_found") {
      throw new WalletProblem("failed", `The account ${payer} is not on ${NETWORK_NAMES[terms.network]} yet. Fund it, then try again.`);
    }
    return;
  }
  const held = balances.find((each) => each.contract === terms.asset);
  if (!held || held.balance === null || isAtLeast(held.balance, terms.amount)) return;
  const name = token.code ?? "the token";
  const has = formatUnits(held.balance, token.decimals ?? 0) ?? held.balance;
  const needs = formatUnits(terms.amount, token.decimals ?? 0) ?? terms.amount;
  const advice =
    held.state === "no_trustline" ? `Add a trustline for ${name} in your wallet and fund it.` : `Fund it with ${name}.`;
  throw new WalletProblem("failed", `The account holds ${has} ${name}, and the price is ${needs}. ${advice} Nothing was signed.`);
}

async function readPresentLedger(network: Network) {
  const found = await readLedger(network);
  if (!found) {
    throw new WalletProblem("failed", "The latest ledger of the network is not known, so the expiry cannot be checked. Nothing was signed.");
  }
  return found;
}

/**
 * Connects the wallet, has the payment prepared, and reads what would be signed.
 *
 * Throws `WalletProblem`, `ApiError`, or `DiffersFromPrice` and `Undecodable` of the decoder.
 */
export async function prepare(terms: Terms, wallet: Wallet, token: TokenName): Promise<Review> {
  if (!wallet.canSignEntries) {
    throw new WalletProblem(
      "cannot_sign_entries",
      `${wallet.name} signs transactions and no authorization entries, so it cannot pay here. Use Freighter.`,
    );
  }
  const { address: payer } = await connectOn(wallet, PASSPHRASES[terms.network]);
  await checkBalance(terms, payer, token);
  const prepared = await call("POST /v1/payments/prepare", { body: { requirements: terms, payer } });
  const ledger = await readPresentLedger(terms.network);
  const [{ decodePayment }, { judgeTransfer }] = await Promise.all([
    import("@/wallet/decodePayment"),
    import("@/wallet/decodeJudgement"),
  ]);
  const transfer = decodePayment(prepared.preimage);
  const { expirationLedger } = prepared;
  const differences = judgeTransfer(transfer, { price: terms, payer, expirationLedger, ledger });
  if (differences.length > 0) throw new DiffersFromPrice(differences);
  const amount = formatUnits(transfer.amount.toString(), token.decimals ?? 0) ?? transfer.amount.toString();
  const unit = token.decimals === null ? "base units of this token" : (token.code ?? "of this token");
  const seconds = Math.max(transfer.expirationLedger - ledger.sequence, 0) * ledger.secondsPerLedger;
  const until = formatFull(Date.parse(ledger.closedAt) + seconds * 1000); // this machine's clock may be wrong
  return {
    terms,
    payer,
    walletName: wallet.name,
    prepared,
    statements: [
      `Pay ${amount} ${unit} to ${transfer.recipient}.`,
      `From your account ${transfer.payer}, on ${NETWORK_NAMES[transfer.network as Network] ?? transfer.network}.`,
      `The token is the contract ${transfer.asset}.`,
      `Once, and until ledger ${transfer.expirationLedger} closes, at about ${until}.`,
      "Nothing else: no other amount, token or recipient, no other call, and no network fee.",
    ],
  };
}

/** Has the wallet sign what was reviewed. Throws `WalletProblem`; then nothing was signed. */
export function sign(review: Review, wallet: Wallet): Promise<string> {
  const networkPassphrase = PASSPHRASES[review.terms.network];
  return wallet.signAuthEntry(review.prepared.preimage, { address: review.payer, networkPassphrase });
}

/** Has the service put a signature into its payment, and returns the `PAYMENT-SIGNATURE`: each time the same. */
export async function complete(requirements: Terms, completion: Completion): Promise<string> {
  const { entry, signature, resource, extensions } = completion;
  const body = {
    entry,
    signature,
    requirements,
    ...(resource ? { resource: resource as never } : {}),
    extensions: extensions as never,
  };
  const answer: unknown = await call("POST /v1/payments/complete", { body });
  const { paymentSignature } = asRecord(answer);
  if (typeof paymentSignature === "string" && paymentSignature !== "") return paymentSignature;
  throw new Error("The service's answer could not be read. Nothing was sent.");
}

/** Whether the service itself refused to complete a payment: it will not do so later either. */
export const isRefusedCompletion = (problem: unknown): boolean =>
  problem instanceof ApiError && problem.isOwn && problem.status === 400;
