import { fromHex, isEqual, join } from "./bytes";
import { addressXdr } from "./decodeAddress";
import { readTransactionHead } from "./decodeTransaction";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";
import { addressValue, bytesValue, invocationXdr, uint32 } from "./writeXdr";

/** What the page says is revoked. */
export interface ExpectedRevocation {
  mode: "session" | "mandate";
  account: string;
  /** The policy id that the page shows (hex). */
  policyId: string;
  /** The contract that the page shows: the guard of a session, or the mandate itself. */
  contract: string;
}

export interface Revocation {
  /** Unix seconds. */
  endsAt: number;
  /** What a signature does, in sentences made from the bytes. */
  statements: string[];
}

const MAX_BYTES = 16_384;
const VOID = uint32(1); // SCVal
// One operation of the transaction's own source, which invokes a host function that calls a contract.
const OPERATION = join(uint32(1), uint32(0), uint32(24), uint32(0));
// One authorization, by the source of the transaction; and resources behind it.
const ONE_ENTRY = join(uint32(1), uint32(0));
const RESOURCES = uint32(1);
const NO_SIGNATURE = uint32(0);
const STROOPS = 10_000_000;
const HIGHEST_FEE = 10 * STROOPS;

const xlm = (stroops: number): string => `${(stroops / STROOPS).toFixed(7).replace(/\.?0+$/, "")} XLM`;

function expectedCall({ mode, account, policyId, contract }: ExpectedRevocation): Uint8Array {
  const values = mode === "mandate" ? [VOID] : [addressValue(account), bytesValue(fromHex(policyId)), VOID];
  return invocationXdr(contract, "close", values);
}

/** The call is an InvokeContractArgs: the invocation without its kind before it and the calls below it. */
function requireBody(reader: XdrReader, expected: ExpectedRevocation): void {
  const tree = expectedCall(expected);
  const body = join(OPERATION, tree.slice(4, -4), ONE_ENTRY, tree, RESOURCES);
  if (!isEqual(reader.fixed(body.length), body)) {
    throw new Undecodable("It is another call than the revocation that the page shows, or allows more than it.");
  }
}

function statementsOf({ mode, account, policyId, contract }: ExpectedRevocation, fee: number): string[] {
  return [
    mode === "mandate"
      ? `Close the mandate ${contract} of your account ${account}, for ever.`
      : `Close the session of your account ${account} with the policy id ${policyId} at the contract ${contract}, for ever.`,
    `Your account pays the network fee: at most ${xlm(fee)}.`,
    "Nothing else: one call of “close”, no call below it, and no token moves.",
  ];
}

/**
 * Reads the transaction (base64 XDR, unsigned) by which an account revokes what a plan may do. All of it
 * up to the resources is compared with what the page shows; the resources bound what it costs.
 *
 * Throws `Undecodable` for every other transaction.
 */
export function readRevocation(xdr: string, expected: ExpectedRevocation): Revocation {
  if (addressXdr(expected.account)[3] !== 0) throw new Undecodable("A contract account sends no transaction.");
  const bytes = readBase64(xdr, MAX_BYTES);
  const reader = new XdrReader(bytes);
  const { source, fee, sequence, maxTime } = readTransactionHead(reader);
  if (source !== expected.account) throw new Undecodable(`It is a transaction of ${source}, and your account is ${expected.account}.`);
  if (sequence <= 0n) throw new Undecodable("It has no sequence number.");
  if (fee > HIGHEST_FEE) throw new Undecodable(`It costs up to ${xlm(fee)}, which no revocation costs.`);
  requireBody(reader, expected);
  if (reader.position >= bytes.length - 4) throw new Undecodable("It ends too early.");
  if (!isEqual(bytes.slice(-4), NO_SIGNATURE)) throw new Undecodable("It is signed already, or something follows it.");
  return { endsAt: Number(maxTime), statements: statementsOf(expected, fee) };
}
