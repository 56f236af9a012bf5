import { ascii, join } from "./bytes";
import { addressXdr, base32, contractAddress } from "./decodeAddress";

const LABEL = "x402.automation.policy.v1";
// ENVELOPE_TYPE_CONTRACT_ID; CONTRACT_ID_PREIMAGE_FROM_ADDRESS follows the network's id.
const CONTRACT_ID = Uint8Array.of(0, 0, 0, 8);
const FROM_ADDRESS = new Uint8Array(4);
const SHORT = 20;
const RULE_NAME = 16;

const sha256 = async (...parts: Uint8Array[]): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", join(...parts)));

/** The policy id of a SessionSpec (XDR) on a network, which the contracts compute as well. */
export const computePolicyId = (networkId: Uint8Array, specXdr: Uint8Array): Promise<Uint8Array> =>
  sha256(ascii(LABEL), Uint8Array.of(0), networkId, specXdr);

/** The address of the mandate that the factory makes for a policy. */
export const mandateAddress = async (networkId: Uint8Array, factory: string, policyId: Uint8Array): Promise<string> =>
  contractAddress(await sha256(CONTRACT_ID, networkId, FROM_ADDRESS, addressXdr(factory), policyId));

/** Its first letters in base32: of 15 bytes, since whole groups of five are written. */
const letters = (policyId: Uint8Array, count: number): string =>
  base32(policyId.slice(0, 15)).slice(0, count).toLowerCase();

/** The policy id for people. */
export const shortPolicyId = (policyId: Uint8Array): string => `pol_${letters(policyId, SHORT)}`;

/** The name of the policy's context rules on a smart account. */
export const ruleName = (policyId: Uint8Array): string => `x4:${letters(policyId, RULE_NAME)}`;
