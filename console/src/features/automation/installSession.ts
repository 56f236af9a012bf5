import type { Plan, PlanSession, SignableEntry } from "@/api/automationTypes";
import { readSession } from "@/api/automations";
import { Undecodable } from "@/wallet/decodeXdr";
import type { EntryReading } from "@/wallet/readInstallEntry";
import type { Wallet } from "@/wallet/wallet";
import { connectOn, WalletProblem } from "@/wallet/wallet";

type Read = Exclude<EntryReading, { kind: "refused" }>;

/** An entry to sign, and what its bytes allow. */
export interface ReadEntry {
  entry: SignableEntry;
  reading: Read;
}

export interface Material {
  session: PlanSession;
  account: string;
  entries: ReadEntry[];
}

/** The console read the entries, and one is not what the page shows. Nothing was signed. */
export class DiffersFromPlan extends Error {
  readonly kind = "undecodable";
  constructor(sentence: string) {
    super(`${sentence} Nothing was signed.`);
    this.name = "DiffersFromPlan";
  }
}

const numberOf = (text: string): bigint => {
  if (!/^-?\d{1,20}$/.test(text)) throw new DiffersFromPlan("The nonce of an entry is no number.");
  return BigInt(text);
};

/** Reads one entry, and holds it against the plan of the page. */
async function readEntry(plan: Plan, session: PlanSession, entry: SignableEntry): Promise<ReadEntry> {
  const { readInstallEntry } = await import("@/wallet/readInstallEntry");
  const mode = plan.authorityMode;
  if (mode === "open") throw new DiffersFromPlan("A plan of the mode open has nothing to sign.");
  const reading = await readInstallEntry(entry.entryXdr, {
    mode,
    network: plan.network,
    account: session.account ?? "",
    nonce: numberOf(entry.nonce),
    expirationLedger: entry.expirationLedger,
    policyId: plan.policyId,
    policySpecXdr: session.policySpecXdr ?? "",
  });
  if (reading.kind === "refused") throw new DiffersFromPlan(reading.sentence);
  if (reading.preimageXdr !== entry.preimageXdr) throw new DiffersFromPlan("The preimage is not that of the entry.");
  return { entry, reading };
}

/** Reads what is to be signed, as of the newest ledger. Throws `ApiError` and `DiffersFromPlan`. */
export async function readMaterial(plan: Plan): Promise<Material> {
  const session = await readSession(plan.id);
  const account = session.account ?? "";
  if (session.policyId !== plan.policyId) throw new DiffersFromPlan("It is for another plan than the page shows.");
  if (account !== plan.account) throw new DiffersFromPlan("It is for another account than the page shows.");
  const entries: ReadEntry[] = [];
  for (const entry of session.install?.entries ?? []) entries.push(await readEntry(plan, session, entry));
  return { session, account, entries };
}

/**
 * Has the wallet sign each entry in turn, and returns the signed entries. `onSigned` is told after
 * each; what it was told before is given as `before` to go on after a refusal.
 */
export async function signMaterial(
  { session, account, entries }: Material,
  wallet: Wallet,
  before: readonly string[],
  onSigned: (signed: string[]) => void,
): Promise<string[]> {
  if (!wallet.canSignEntries) {
    throw new WalletProblem("cannot_sign_entries", `${wallet.name} signs transactions and no authorization entries. Use Freighter.`);
  }
  const { signedEntryXdr } = await import("@/wallet/signedEntry");
  const { networkPassphrase } = session;
  const connected = await connectOn(wallet, networkPassphrase);
  if (account.startsWith("G") && connected.address !== account) {
    throw new WalletProblem("wrong_account", `Select the plan's account ${account.slice(0, 4)}…${account.slice(-4)} in ${wallet.name} and try again.`);
  }
  const signed = [...before];
  for (const { entry, reading } of entries.slice(before.length)) {
    const signature = await wallet.signAuthEntry(reading.preimageXdr, { address: account, networkPassphrase });
    signed.push(signedEntryXdr(entry.entryXdr, signature));
    onSigned([...signed]);
  }
  return signed;
}

export const isRefusal = (error: unknown): boolean => error instanceof DiffersFromPlan || error instanceof Undecodable;

/** What the button says while some of the signatures are made already. */
export function signVerb(count: number, signed: number): string {
  if (count <= 1) return "Sign and activate";
  if (signed === 0) return `Sign ${count} times and activate`;
  return signed < count ? `Sign the other ${count - signed} and activate` : "Activate the plan";
}

/** A refusal of the wallet between two signatures: the earlier ones are kept, and nothing was sent. */
export function sinceSigned(problem: unknown, signed: number): unknown {
  if (!(problem instanceof WalletProblem) || signed === 0) return problem;
  const kept = signed === 1 ? "The signature before it is kept" : `The ${signed} signatures before it are kept`;
  return new WalletProblem(problem.kind, problem.message.replace("Nothing was signed.", `${kept} on this page; nothing was sent.`));
}
