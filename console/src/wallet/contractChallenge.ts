import { base64, isEqual, join } from "./bytes";
import { accountAddress, contractAddress } from "./decodeAddress";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";

/** What a challenge has to name; the service says it beside the challenge. */
export interface ExpectedChallenge {
  /** The account that signs in (C…). */
  address: string;
  networkPassphrase: string;
  homeDomain: string;
  webAuthDomain: string;
  signingKey: string;
}

export interface ContractChallenge {
  /** The HashIDPreimage that the account signs, base64 XDR. */
  preimage: string;
  /** Puts the account's signature into its entry: an SCVal, or the 64 bytes of a key. */
  complete: (signature: string) => string;
}

const MAX_BYTES = 16_384;
const MAX_SIGNATURE_BYTES = 8_192;
const MAX_TEXT = 512;
const FUNCTION = "web_auth_verify";
// SorobanCredentialsType, SCAddressType, SCValType and EnvelopeType.
const BY_ADDRESS = 1;
const CONTRACT = 1;
const VOID = 1;
const STRING = 14;
const SYMBOL = 15;
const MAP = 17;
const AUTHORIZATION = Uint8Array.of(0, 0, 0, 9);
/** The kind "bytes" and the number 64, as the value of a plain signature begins. */
const PLAIN_SIGNATURE = Uint8Array.of(0, 0, 0, 13, 0, 0, 0, 64);
const KEY_SIGNATURE_BYTES = 64;

function requireText(reader: XdrReader, kind: number, expected: string | null): void {
  reader.expect(kind, "An argument of the challenge is no text.");
  const text = String.fromCharCode(...reader.opaque(MAX_TEXT));
  if (expected !== null && text !== expected) {
    throw new Undecodable("The challenge names another account or service.");
  }
}

/** Reads the call of SEP-45, whose arguments are a map of texts in the order of their names. */
function readCall(reader: XdrReader, expected: ExpectedChallenge): void {
  reader.expect(0, "The challenge is no call of a contract.");
  reader.expect(CONTRACT, "The challenge calls no contract.");
  reader.fixed(32); // the web-auth contract: the service asks it, and it is never sent to the network
  if (String.fromCharCode(...reader.opaque(32)) !== FUNCTION) {
    throw new Undecodable("The challenge calls another function.");
  }
  reader.expect(1, "The challenge has other arguments.");
  reader.expect(MAP, "The challenge has other arguments.");
  reader.expect(1, "The challenge has no arguments.");
  const fields: [name: string, value: string | null][] = [
    ["account", expected.address],
    ["home_domain", expected.homeDomain],
    ["nonce", null],
    ["web_auth_domain", expected.webAuthDomain],
    ["web_auth_domain_account", expected.signingKey],
  ];
  reader.expect(fields.length, "The challenge has other arguments.");
  for (const [name, value] of fields) {
    requireText(reader, SYMBOL, name);
    requireText(reader, STRING, value);
  }
  reader.expect(0, "The challenge allows further calls.");
}

/** The service's entry: its address, and behind its signature the same call. */
function requireServiceEntry(rest: Uint8Array, call: Uint8Array, signingKey: string): void {
  const reader = new XdrReader(rest);
  reader.expect(BY_ADDRESS, "The service's entry has another form.");
  reader.expect(0, "The service's entry is not that of an account.");
  reader.expect(0, "The service's entry has a key of an unknown kind.");
  const isSigner = accountAddress(reader.fixed(32)) === signingKey;
  const tail = rest.length > call.length ? rest.slice(-call.length) : rest;
  if (!isSigner || !isEqual(tail, call)) {
    throw new Undecodable("The service's entry is for another call.");
  }
}

function readSignature(text: string): Uint8Array {
  const bytes = readBase64(text, MAX_SIGNATURE_BYTES);
  if (bytes.length === KEY_SIGNATURE_BYTES) return join(PLAIN_SIGNATURE, bytes);
  if (bytes.length < 4 || bytes.length % 4 !== 0) throw new Undecodable("The wallet gave no signature.");
  return bytes;
}

/**
 * Reads a SEP-45 challenge: two authorization entries of one call, the account's and the service's.
 *
 * Throws `Undecodable` for everything that SEP-45 does not allow a wallet to sign.
 */
export async function readContractChallenge(
  document: string,
  expected: ExpectedChallenge,
): Promise<ContractChallenge> {
  const bytes = readBase64(document, MAX_BYTES);
  const reader = new XdrReader(bytes);
  reader.expect(2, "The challenge has another number of entries than two.");
  reader.expect(BY_ADDRESS, "The account's entry has another form.");
  reader.expect(CONTRACT, "The account's entry is not that of a contract.");
  if (contractAddress(reader.fixed(32)) !== expected.address) {
    throw new Undecodable("The challenge is for another account.");
  }
  const nonceAndExpiry = reader.fixed(12);
  const signatureAt = reader.position;
  reader.expect(VOID, "The account's entry is signed already.");
  const callAt = reader.position;
  readCall(reader, expected);
  const call = bytes.slice(callAt, reader.position);
  requireServiceEntry(bytes.slice(reader.position), call, expected.signingKey);

  const passphrase = new TextEncoder().encode(expected.networkPassphrase);
  const networkId = new Uint8Array(await crypto.subtle.digest("SHA-256", passphrase));
  return {
    preimage: base64(join(AUTHORIZATION, networkId, nonceAndExpiry, call)),
    complete: (signature) =>
      base64(join(bytes.slice(0, signatureAt), readSignature(signature), bytes.slice(callAt))),
  };
}
