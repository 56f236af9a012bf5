import { accountAddress } from "./decodeAddress";
import { Undecodable } from "./decodeXdr";
import type { XdrReader } from "./decodeXdr";

/** A transaction up to its operations. */
export interface TransactionHead {
  /** G… */
  source: string;
  /** The most that it costs, in stroops. */
  fee: number;
  sequence: bigint;
  /** Unix seconds. */
  minTime: bigint;
  maxTime: bigint;
}

// EnvelopeType of a transaction of version 1, Preconditions of time bounds, and a memo of no kind.
const TRANSACTION = 2;
const TIME_BOUNDS = 1;
const NO_MEMO = 0;
const MANAGE_DATA = 10;
const MAX_DATA = 64;

/** Reads a plain account: a muxed one is refused. */
export function readAccount(reader: XdrReader): string {
  reader.expect(0, "It names an account of an unknown kind.");
  return accountAddress(reader.fixed(32));
}

/** Reads an envelope up to its operations: with time bounds that end, and without a memo. */
export function readTransactionHead(reader: XdrReader): TransactionHead {
  reader.expect(TRANSACTION, "It is no transaction.");
  const source = readAccount(reader);
  const fee = reader.uint32();
  const sequence = reader.int64();
  reader.expect(TIME_BOUNDS, "It has no time bounds, or further conditions.");
  const minTime = reader.uint64();
  const maxTime = reader.uint64();
  if (maxTime <= minTime) throw new Undecodable("It never ends.");
  reader.expect(NO_MEMO, "It has a memo.");
  return { source, fee, sequence, minTime, maxTime };
}

const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

/** Reads an operation that sets a data entry of an account which the operation names. */
export function readDataOperation(reader: XdrReader): { source: string; name: string; value: string } {
  reader.expect(1, "An operation names no account.");
  const source = readAccount(reader);
  reader.expect(MANAGE_DATA, "It has another operation than those of a sign-in.");
  const name = textOf(reader.opaque(MAX_DATA));
  reader.expect(1, "An operation of it removes data.");
  return { source, name, value: textOf(reader.opaque(MAX_DATA)) };
}
