import { fromHex, hex } from "./bytes";
import { accountAddress, contractAddress } from "./decodeAddress";
import { Undecodable } from "./decodeXdr";
import type { XdrReader } from "./decodeXdr";

const ACCOUNT = 0;
const CONTRACT = 1;

/** By the SHA-256 of the passphrase; `decodePayment.test.ts` computes them again. */
const NETWORKS: Record<string, string> = {
  cee0302d59844d32bdca915c8203dd44b33fbb7edc19051ea37abedf28ecd472: "stellar:testnet",
  "7ac33997544e3175d266bd022439b22cdb16508c01163f26e5cb2a3e1045a979": "stellar:pubnet",
};

/** Reads a network's id, and returns its CAIP-2 name. */
export function readNetwork(reader: XdrReader): string {
  const network = NETWORKS[hex(reader.fixed(32))];
  if (network === undefined) throw new Undecodable("It is for a network that is not known here.");
  return network;
}

/** The id of a network by its CAIP-2 name, 32 bytes. */
export function networkId(network: string): Uint8Array {
  const found = Object.keys(NETWORKS).find((id) => NETWORKS[id] === network);
  if (found === undefined) throw new Undecodable("It is for a network that is not known here.");
  return fromHex(found);
}

/** Reads an SCAddress of the two kinds that people have. */
export function readAddress(reader: XdrReader): string {
  const kind = reader.uint32();
  if (kind === ACCOUNT) {
    reader.expect(0, "An account has a key of an unknown kind."); // PublicKey: ed25519
    return accountAddress(reader.fixed(32));
  }
  if (kind === CONTRACT) return contractAddress(reader.fixed(32));
  throw new Undecodable("An address is neither an account nor a contract.");
}

