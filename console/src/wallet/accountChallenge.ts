import { isEqual } from "./bytes";
import type { ExpectedChallenge } from "./contractChallenge";
import { addressXdr } from "./decodeAddress";
import { readDataOperation, readTransactionHead } from "./decodeTransaction";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";

const MAX_BYTES = 2_048;
const NONCE_CHARACTERS = 64; // 48 random bytes in base64
const LONGEST_SECONDS = 900n; // SEP-10 recommends 15 minutes
const SIGNATURE_BYTES = 64;
const HINT_BYTES = 4;

function require(holds: boolean, otherwise: string): void {
  if (!holds) throw new Undecodable(otherwise);
}

/** The service's own signature and no other one; the service verifies it when it comes back. */
function readSignature(reader: XdrReader, signingKey: string): void {
  reader.expect(1, "The challenge has other signatures than the service's.");
  const hint = reader.fixed(HINT_BYTES);
  const isService = isEqual(hint, addressXdr(signingKey).slice(-HINT_BYTES));
  require(isService, "The challenge has the signature of another account than the service's.");
  require(reader.opaque(SIGNATURE_BYTES).length === SIGNATURE_BYTES, "The service's signature is too short.");
}

/**
 * Reads a SEP-10 challenge: a transaction of the service with the sequence number 0, which no network
 * takes, and two operations that name the account and the service. Returns when it ends, Unix seconds.
 *
 * Throws `Undecodable` for everything that SEP-10 does not allow a wallet to sign.
 */
export function readAccountChallenge(document: string, expected: ExpectedChallenge): { endsAt: number } {
  const reader = new XdrReader(readBase64(document, MAX_BYTES));
  const { source, sequence, minTime, maxTime } = readTransactionHead(reader);
  require(source === expected.signingKey, "The challenge is a transaction of another account than the service's.");
  require(sequence === 0n, "The challenge could be sent to the network: its sequence number is not 0.");
  require(minTime > 0n && maxTime - minTime <= LONGEST_SECONDS, "The challenge can be used for too long.");
  reader.expect(2, "The challenge has other operations than those of a sign-in.");
  const account = readDataOperation(reader);
  require(account.source === expected.address, "The challenge is for another account.");
  require(account.name === `${expected.homeDomain} auth`, "The challenge names another service.");
  require(account.value.length === NONCE_CHARACTERS, "The challenge has no nonce.");
  const service = readDataOperation(reader);
  require(service.source === expected.signingKey, "The challenge sets data of another account.");
  require(service.name === "web_auth_domain", "The challenge sets other data.");
  require(service.value === expected.webAuthDomain, "The challenge names another service.");
  reader.expect(0, "The challenge has a part that a sign-in does not have.");
  readSignature(reader, expected.signingKey);
  reader.finish();
  return { endsAt: Number(maxTime) };
}
