import { ascii, join } from "./bytes";
import { addressXdr } from "./decodeAddress";

// The XDR of what a plan implies, to be compared with what is signed.

export const uint32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
};
const opaque = (bytes: Uint8Array): Uint8Array =>
  join(uint32(bytes.length), bytes, new Uint8Array((4 - (bytes.length % 4)) % 4));
const listOf = (parts: Uint8Array[]): Uint8Array => join(uint32(parts.length), ...parts);

// SCVal
export const u32Value = (value: number): Uint8Array => join(uint32(3), uint32(value));
export const bytesValue = (bytes: Uint8Array): Uint8Array => join(uint32(13), opaque(bytes));
export const stringValue = (text: string): Uint8Array => join(uint32(14), opaque(ascii(text)));
export const symbolValue = (text: string): Uint8Array => join(uint32(15), opaque(ascii(text)));
export const vecValue = (...items: Uint8Array[]): Uint8Array => join(uint32(16), uint32(1), listOf(items));
/** A map of one entry. */
export const mapValue = (key: Uint8Array, value: Uint8Array): Uint8Array =>
  join(uint32(17), uint32(1), uint32(1), key, value);
export const addressValue = (address: string): Uint8Array => join(uint32(18), addressXdr(address));

export function i128Value(value: bigint): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, value >> 64n);
  view.setBigUint64(8, BigInt.asUintN(64, value));
  return join(uint32(10), bytes);
}

/** A SorobanAuthorizedInvocation: a call of a contract, and the calls below it. */
export const invocationXdr = (
  contract: string,
  name: string,
  values: Uint8Array[],
  nested: Uint8Array[] = [],
): Uint8Array => join(uint32(0), addressXdr(contract), opaque(ascii(name)), listOf(values), listOf(nested));
