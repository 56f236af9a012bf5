import { hex, isEqual } from "./bytes";
import { networkId } from "./decodeParts";
import { readAuthorization } from "./decodeEntry";
import type { Authorization, Invocation } from "./decodeEntry";
import type { ScValue } from "./decodeValue";
import { Undecodable } from "./decodeXdr";
import { computePolicyId, mandateAddress, ruleName, shortPolicyId } from "./policyId";
import { specOf } from "./readSessionSpec";
import type { SessionSpec } from "./readSessionSpec";
import { sheetOf } from "./writePermissionSheet";
import { runSheetOf } from "./writeRunSheet";
import {
  addressValue,
  bytesValue,
  i128Value,
  invocationXdr,
  mapValue,
  stringValue,
  symbolValue,
  u32Value,
  vecValue,
} from "./writeXdr";

/** What the page says will be signed. */
export interface ExpectedEntry {
  /** How the plan acts, and therefore what the entry is. */
  mode: "session" | "mandate" | "presigned";
  /** CAIP-2. */
  network: string;
  account: string;
  nonce: bigint;
  expirationLedger: number;
  /** The policy id that the page shows (hex); it is not compared for a run that is signed ahead. */
  policyId: string | null;
}

interface Signed {
  nonce: bigint;
  expirationLedger: number;
  /** What the wallet signs (base64 XDR): made here, of what was read. */
  preimageXdr: string;
  permissions: string[];
}

interface Policy extends Signed {
  spec: SessionSpec;
  /** Hex. */
  policyId: string;
  policyName: string;
  /** The last ledger of the rules, or of the approvals. */
  validUntilLedger: number;
}

export type EntryReading =
  | (Policy & { kind: "session"; contracts: { installer: string; guard: string; verifier: string } })
  | (Policy & { kind: "mandate"; contracts: { factory: string; mandate: string } })
  | (Signed & { kind: "run"; run: Invocation })
  | { kind: "refused"; sentence: string };

function refuse(sentence: string): never {
  throw new Undecodable(sentence);
}

const addressOf = (value: ScValue | undefined): string =>
  value?.kind === "address" ? value.address : refuse("A contract or account in it is no address.");
const u32Of = (value: ScValue | undefined): number =>
  value?.kind === "number" && value.type === "u32" ? Number(value.value) : refuse("Its last ledger is no number.");

/** The spec at this argument, of this account and mode; with its XDR and policy id. */
async function readPolicy(call: Invocation, place: number, { mode, account, network, policyId }: ExpectedEntry) {
  const [value, xdr] = [call.values[place], call.raw[place]];
  if (!value || !xdr) refuse("It has no session specification.");
  const spec = specOf(value);
  if (spec.account !== account) refuse(`It is for the account ${spec.account}, and your account is ${account}.`);
  if (spec.mode !== mode) refuse(`It is for a plan of the mode ${spec.mode}, and this plan has the mode ${mode}.`);
  const id = await computePolicyId(networkId(network), xdr);
  if (policyId !== null && hex(id) !== policyId) refuse("It is for another plan than the page shows.");
  return { spec, xdr, id };
}

/** The call must be of this function with so many arguments. */
function requireCall(call: Invocation, name: string, count: number): void {
  if (call.function !== name || call.values.length !== count) refuse(`It is no call of ${name} as a plan has it.`);
}

/** What is signed must be these bytes and no others: every argument and every call below. */
function requireTree(authorization: Authorization, tree: Uint8Array): void {
  if (!isEqual(authorization.rootXdr, tree)) refuse("It allows other calls than those that the plan implies.");
}

const policyOf = (spec: SessionSpec, id: Uint8Array, end: number, network: string) => ({
  spec,
  policyId: hex(id),
  policyName: shortPolicyId(id),
  validUntilLedger: end,
  permissions: sheetOf(network, spec),
});

async function readSession(authorization: Authorization, expected: ExpectedEntry): Promise<EntryReading> {
  const { root } = authorization;
  requireCall(root, "install", 6);
  const { spec, xdr, id } = await readPolicy(root, 3, expected);
  const [guard, verifier, end] = [addressOf(root.values[1]), addressOf(root.values[2]), u32Of(root.values[5])];
  const [account, name, last] = [addressValue(spec.account), stringValue(ruleName(id)), u32Value(end)];
  const signer = vecValue(symbolValue("External"), addressValue(verifier), bytesValue(spec.delegate));
  const policies = mapValue(addressValue(guard), xdr);
  const rules = [...new Set(spec.calls.map((call) => call.contract))].map((contract) => {
    const context = vecValue(symbolValue("CallContract"), addressValue(contract));
    return invocationXdr(spec.account, "add_context_rule", [context, name, last, vecValue(signer), policies]);
  });
  const values = [account, addressValue(guard), addressValue(verifier), xdr, name, last];
  requireTree(authorization, invocationXdr(root.contract, "install", values, rules));
  const contracts = { installer: root.contract, guard, verifier };
  return { kind: "session", contracts, ...policyOf(spec, id, end, expected.network), ...signedOf(authorization) };
}

async function readMandate(authorization: Authorization, expected: ExpectedEntry): Promise<EntryReading> {
  const { root } = authorization;
  requireCall(root, "open", 2);
  const { spec, xdr, id } = await readPolicy(root, 0, expected);
  const end = u32Of(root.values[1]);
  const mandate = await mandateAddress(networkId(expected.network), root.contract, id);
  const [account, spender, last] = [addressValue(spec.account), addressValue(mandate), u32Value(end)];
  const approvals = spec.caps
    .filter((cap) => cap.total !== 0n)
    .map((cap) => invocationXdr(cap.token, "approve", [account, spender, i128Value(cap.total), last]));
  requireTree(authorization, invocationXdr(root.contract, "open", [xdr, last], approvals));
  const contracts = { factory: root.contract, mandate };
  return { kind: "mandate", contracts, ...policyOf(spec, id, end, expected.network), ...signedOf(authorization) };
}

function readRun(authorization: Authorization, { account }: ExpectedEntry): EntryReading {
  const { root } = authorization;
  requireRunCalls(root, account);
  return { kind: "run", run: root, permissions: runSheetOf(authorization, account), ...signedOf(authorization) };
}

/** A run never calls the account itself, and below its call are transfers from the account alone. */
function requireRunCalls(call: Invocation, account: string): void {
  if (call.contract === account) refuse("It calls your account itself, which no run of a plan does.");
  for (const each of call.nested) {
    const [from, to, amount, ...more] = each.values;
    const isFromAccount = from?.kind === "address" && from.address === account;
    const isAmount = amount?.kind === "number" && amount.type === "i128" && amount.value >= 0n;
    if (each.function !== "transfer" || more.length > 0 || to?.kind !== "address" || !isFromAccount || !isAmount) {
      refuse("It allows a call below its first one that is no transfer from your account.");
    }
    requireRunCalls(each, account);
  }
}

const signedOf = ({ nonce, expirationLedger, preimageXdr }: Authorization) => ({
  nonce,
  expirationLedger,
  preimageXdr,
});

function requireSame(found: Authorization, expected: ExpectedEntry): void {
  if (found.account !== null && found.account !== expected.account) {
    refuse(`It is for the account ${found.account}, and your account is ${expected.account}.`);
  }
  if (found.nonce !== expected.nonce) refuse("It has another nonce than the page was told.");
  if (found.expirationLedger !== expected.expirationLedger) {
    refuse(`It ends with ledger ${found.expirationLedger}, and the service says ${expected.expirationLedger}.`);
  }
}

/**
 * Reads what a signature of this entry or preimage (base64 XDR) would allow, in sentences made from
 * these bytes alone; a refusal says why nothing may be signed. It never throws for its input.
 */
export async function readInstallEntry(xdr: string, expected: ExpectedEntry): Promise<EntryReading> {
  try {
    const authorization = readAuthorization(xdr, expected.network);
    requireSame(authorization, expected);
    if (expected.mode === "session") return await readSession(authorization, expected);
    return expected.mode === "mandate"
      ? await readMandate(authorization, expected)
      : readRun(authorization, expected);
  } catch (error) {
    if (error instanceof Undecodable) return { kind: "refused", sentence: error.message };
    throw error;
  }
}
