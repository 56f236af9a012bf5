import { base64, join } from "./bytes";
import { addressXdr } from "./decodeAddress";
import { readAddress } from "./decodeParts";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";
import { bytesValue, symbolValue, uint32 } from "./writeXdr";

const MAX_BYTES = 600_000;
const MAX_SIGNATURE = 16_384;
// SorobanCredentialsType, and the kinds of SCVal
const BY_ADDRESS = [1, 2];
const VOID = 1;
const VEC = 16;
const MAP = 17;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** The signature of a classic account as `__check_auth` of the host takes it (CAP-46-11). */
function accountSignature(address: string, signature: Uint8Array): Uint8Array {
  if (signature.length !== SIGNATURE_BYTES) throw new Undecodable("The wallet's signature has not 64 bytes.");
  const key = addressXdr(address).slice(-KEY_BYTES);
  const members = [symbolValue("public_key"), bytesValue(key), symbolValue("signature"), bytesValue(signature)];
  return join(uint32(VEC), uint32(1), uint32(1), uint32(MAP), uint32(1), uint32(2), ...members);
}

/**
 * Puts a wallet's signature into an authorization entry (base64 XDR) that has none: 64 bytes for an
 * account, the SCVal of `__check_auth` for a contract, both base64. Throws `Undecodable`.
 */
export function signedEntryXdr(entryXdr: string, signature: string): string {
  const bytes = readBase64(entryXdr, MAX_BYTES);
  const reader = new XdrReader(bytes);
  if (!BY_ADDRESS.includes(reader.uint32())) throw new Undecodable("It is no entry that an address signs.");
  const address = readAddress(reader);
  reader.fixed(12); // nonce and last ledger
  const at = reader.position;
  reader.expect(VOID, "It is signed already.");
  const given = readBase64(signature, MAX_SIGNATURE);
  const value = address.startsWith("G") ? accountSignature(address, given) : given;
  return base64(join(bytes.slice(0, at), value, bytes.slice(reader.position)));
}
