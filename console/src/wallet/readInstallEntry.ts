import { fromHex, isEqual } from "./bytes";
import { readAuthorization } from "./decodeEntry";
import type { Authorization, Invocation } from "./decodeEntry";
import type { ScValue } from "./decodeValue";
import { readBase64, Undecodable } from "./decodeXdr";
import { isAllowedRun } from "./judgeRun";
import { mandateAddress } from "./mandateAddress";
import { computePolicyId } from "./policyId";
import type { PolicyId } from "./policyId";
import { MAX_SPEC_BYTES, readSessionSpec, specOf } from "./readSessionSpec";
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
  network: PolicyNetwork;
  account: string;
  nonce: bigint;
  expirationLedger: number;
  /** The policy id that the page shows (hex). */
  policyId: string;
  /** The spec of the plan (base64 XDR), which a run that is signed ahead must keep. */
  policySpecXdr: string;
}

/** The networks of which a policy id can be computed (CAIP-2). */
export type PolicyNetwork = Parameters<typeof computePolicyId>[0];

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

/** Holds a spec and its policy id against the page: of this account, mode and plan. */
async function judgeSpec(spec: SessionSpec, xdr: Uint8Array, expected: ExpectedEntry): Promise<PolicyId> {
  const { mode, account, network, policyId } = expected;
  if (spec.account !== account) refuse(`It is for the account ${spec.account}, and your account is ${account}.`);
  if (spec.mode !== mode) refuse(`It is for a plan of the mode ${spec.mode}, and this plan has the mode ${mode}.`);
  const id = await computePolicyId(network, xdr);
  if (id.hex !== policyId) refuse("It is for another plan than the page shows.");
  return id;
}

/** The spec at this argument, with its XDR and policy id. */
async function readPolicy(call: Invocation, place: number, expected: ExpectedEntry) {
  const [value, xdr] = [call.values[place], call.raw[place]];
  if (!value || !xdr) refuse("It has no session specification.");
  const spec = specOf(value);
  return { spec, xdr, id: await judgeSpec(spec, xdr, expected) };
}

/** The call must be of this function with so many arguments. */
function requireCall(call: Invocation, name: string, count: number): void {
  if (call.function !== name || call.values.length !== count) refuse(`It is no call of ${name} as a plan has it.`);
}

/** What is signed must be these bytes and no others: every argument and every call below. */
function requireTree(authorization: Authorization, tree: Uint8Array): void {
  if (!isEqual(authorization.rootXdr, tree)) refuse("It allows other calls than those that the plan implies.");
}

const policyOf = (spec: SessionSpec, id: PolicyId, end: number, network: string) => ({
  spec,
  policyId: id.hex,
  policyName: id.short,
  validUntilLedger: end,
  permissions: sheetOf(network, spec),
});

async function readSession(authorization: Authorization, expected: ExpectedEntry): Promise<EntryReading> {
  const { root } = authorization;
  requireCall(root, "install", 6);
  const { spec, xdr, id } = await readPolicy(root, 3, expected);
  const [guard, verifier, end] = [addressOf(root.values[1]), addressOf(root.values[2]), u32Of(root.values[5])];
  const [account, name, last] = [addressValue(spec.account), stringValue(id.ruleName), u32Value(end)];
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
  const mandate = await mandateAddress(expected.network, root.contract, fromHex(id.hex));
  const [account, spender, last] = [addressValue(spec.account), addressValue(mandate), u32Value(end)];
  const approvals = spec.caps
    .filter((cap) => cap.total !== 0n)
    .map((cap) => invocationXdr(cap.token, "approve", [account, spender, i128Value(cap.total), last]));
  requireTree(authorization, invocationXdr(root.contract, "open", [xdr, last], approvals));
  const contracts = { factory: root.contract, mandate };
  return { kind: "mandate", contracts, ...policyOf(spec, id, end, expected.network), ...signedOf(authorization) };
}

async function readRun(authorization: Authorization, expected: ExpectedEntry): Promise<EntryReading> {
  const { root } = authorization;
  requireRunCalls(root, expected.account);
  const spec = readSessionSpec(expected.policySpecXdr);
  await judgeSpec(spec, readBase64(expected.policySpecXdr, MAX_SPEC_BYTES), expected);
  if (!isAllowedRun(spec, root)) refuse("It allows a run that the plan does not have.");
  const permissions = runSheetOf(authorization, expected.account);
  return { kind: "run", run: root, permissions, ...signedOf(authorization) };
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
      : await readRun(authorization, expected);
  } catch (error) {
    if (error instanceof Undecodable) return { kind: "refused", sentence: error.message };
    throw error;
  }
}
