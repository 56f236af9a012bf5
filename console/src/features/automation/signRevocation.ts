import type { Plan, PlanSession } from "@/api/automationTypes";
import { Undecodable } from "@/wallet/decodeXdr";
import { readRevocation } from "@/wallet/readRevocation";
import type { Revocation } from "@/wallet/readRevocation";
import type { Wallet } from "@/wallet/wallet";
import { connectOn, PASSPHRASES, WalletProblem } from "@/wallet/wallet";
import { DiffersFromPlan } from "./installSession";

/** Reads the transaction, and holds it against the plan and the call that the page shows. Throws what `Problem` shows. */
export function revocationOf(plan: Plan, session: PlanSession, xdr: string): Revocation {
  const { authorityMode: mode, account, policyId } = plan;
  const [call] = session.revoke?.invocations ?? [];
  if ((mode !== "session" && mode !== "mandate") || account === null || !call) {
    throw new DiffersFromPlan("The plan has no session that an account could revoke.");
  }
  if (session.policyId !== policyId || session.account !== account) {
    throw new DiffersFromPlan("The revocation is for another plan than the page shows.");
  }
  try {
    return readRevocation(xdr, { mode, account, policyId, contract: call.contract });
  } catch (error) {
    if (error instanceof Undecodable || error instanceof RangeError) throw new DiffersFromPlan(error.message);
    throw error;
  }
}

/** Has the wallet sign what was read. Throws `WalletProblem` and `DiffersFromPlan`; then nothing was signed. */
export async function signRevocation(plan: Plan, session: PlanSession, xdr: string, wallet: Wallet): Promise<string> {
  revocationOf(plan, session, xdr);
  const networkPassphrase = PASSPHRASES[plan.network];
  const { address } = await connectOn(wallet, networkPassphrase);
  if (address !== plan.account) {
    throw new WalletProblem("wrong_account", `Select the plan's account ${plan.account?.slice(0, 4)}…${plan.account?.slice(-4)} in ${wallet.name} and try again. Nothing was signed.`);
  }
  return wallet.signTransaction(xdr, { address, networkPassphrase });
}
