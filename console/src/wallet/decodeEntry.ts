import { base64, join } from "./bytes";
import { networkId, readAddress, readNetwork } from "./decodeParts";
import { readSymbol, readValue } from "./decodeValue";
import type { ScValue } from "./decodeValue";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";

/** A call of a contract that is authorized, and the calls that it may make below it. */
export interface Invocation {
  contract: string;
  function: string;
  values: ScValue[];
  /** The XDR of each value. */
  raw: Uint8Array[];
  nested: Invocation[];
}

/** What an account authorizes, and what its wallet signs for it. */
export interface Authorization {
  /** CAIP-2. */
  network: string;
  /** Null where neither the entry nor the preimage names it: a preimage of the older kind. */
  account: string | null;
  nonce: bigint;
  /** The last ledger in which it is valid. */
  expirationLedger: number;
  root: Invocation;
  /** The XDR of `root`. */
  rootXdr: Uint8Array;
  /** The HashIDPreimage that the wallet signs, base64 XDR, made from these parts alone. */
  preimageXdr: string;
}

/** Nine copies of the largest spec and some more: an installation repeats it for each contract. */
const MAX_BYTES = 600_000;
// SorobanCredentialsType; EnvelopeType of the preimage without and with the address (CAP-71).
const BY_ADDRESS = 1;
const BY_ADDRESS_V2 = 2;
const PREIMAGE = 9;
const PREIMAGE_WITH_ADDRESS = 10;
const CONTRACT = 1;
const MAX_VALUES = 32;
const MAX_BRANCHES = 64;
const MAX_DEPTH = 8;

function readCount(reader: XdrReader, most: number): number {
  const count = reader.uint32();
  if (count > most) throw new Undecodable("It has too many calls or arguments.");
  return count;
}

function readInvocation(reader: XdrReader, bytes: Uint8Array, depth: number): Invocation {
  if (depth === 0) throw new Undecodable("Its calls are nested too deeply.");
  reader.expect(0, "It is no call of a contract.");
  const at = reader.position;
  reader.expect(CONTRACT, "It calls something that is no contract.");
  const contract = readAddress(new XdrReader(bytes.slice(at, at + 36)));
  reader.fixed(32);
  const { text } = readSymbol(reader);
  const values: ScValue[] = [];
  const raw: Uint8Array[] = [];
  for (let left = readCount(reader, MAX_VALUES); left > 0; left -= 1) {
    const start = reader.position;
    values.push(readValue(reader));
    raw.push(bytes.slice(start, reader.position));
  }
  const nested: Invocation[] = [];
  for (let left = readCount(reader, MAX_BRANCHES); left > 0; left -= 1) {
    nested.push(readInvocation(reader, bytes, depth - 1));
  }
  return { contract, function: text, values, raw, nested };
}

interface Head {
  account: string | null;
  accountXdr: Uint8Array;
  nonceAndExpiry: Uint8Array;
}

/** The slice that `read` moves past. */
function sliceOf<Result>(reader: XdrReader, bytes: Uint8Array, read: () => Result): [Result, Uint8Array] {
  const start = reader.position;
  const result = read();
  return [result, bytes.slice(start, reader.position)];
}

function readHead(reader: XdrReader, bytes: Uint8Array, kind: number, network: string): Head {
  if (kind === BY_ADDRESS || kind === BY_ADDRESS_V2) {
    const [account, accountXdr] = sliceOf(reader, bytes, () => readAddress(reader));
    const nonceAndExpiry = reader.fixed(12);
    reader.expect(1, "It is signed already."); // SCVal: void
    return { account, accountXdr: kind === BY_ADDRESS ? new Uint8Array() : accountXdr, nonceAndExpiry };
  }
  if (kind !== PREIMAGE && kind !== PREIMAGE_WITH_ADDRESS) {
    throw new Undecodable("It is no authorization of a contract call that an address signs.");
  }
  const stated = readNetwork(reader);
  if (stated !== network) throw new Undecodable(`It is for ${stated}, and the plan is on ${network}.`);
  const nonceAndExpiry = reader.fixed(12);
  if (kind === PREIMAGE) return { account: null, accountXdr: new Uint8Array(), nonceAndExpiry };
  const [account, accountXdr] = sliceOf(reader, bytes, () => readAddress(reader));
  return { account, accountXdr, nonceAndExpiry };
}

/**
 * Reads a SorobanAuthorizationEntry without a signature, or a HashIDPreimage (base64 XDR), for this
 * network. Throws `Undecodable`.
 */
export function readAuthorization(xdr: string, network: string): Authorization {
  const bytes = readBase64(xdr, MAX_BYTES);
  const reader = new XdrReader(bytes);
  const kind = reader.uint32();
  const { account, accountXdr, nonceAndExpiry } = readHead(reader, bytes, kind, network);
  const [root, rootXdr] = sliceOf(reader, bytes, () => readInvocation(reader, bytes, MAX_DEPTH));
  reader.finish();
  const numbers = new DataView(nonceAndExpiry.buffer);
  const envelope = Uint8Array.of(0, 0, 0, accountXdr.length > 0 ? PREIMAGE_WITH_ADDRESS : PREIMAGE);
  return {
    network,
    account,
    nonce: numbers.getBigInt64(0),
    expirationLedger: numbers.getUint32(8),
    root,
    rootXdr,
    preimageXdr: base64(join(envelope, networkId(network), nonceAndExpiry, accountXdr, rootXdr)),
  };
}
