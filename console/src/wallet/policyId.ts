import { Undecodable, XdrReader } from "./decodeXdr";
import { PASSPHRASES } from "./wallet";

const LABEL = new TextEncoder().encode("x402.automation.policy.v1\0");
const MAX_BYTES = 65_536;
/** SCValType of a map, and that there is one. */
const MAP = 17;
const PRESENT = 1;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const SHORT = 20;
const RULE_NAME = 16;

/** The name of what a session may do: 32 bytes that guard, mandate, service and page compute alike. */
export interface PolicyId {
  hex: string;
  /** For people, as the service shows it: `pol_` and 20 characters. */
  short: string;
  /** The name of the policy's context rules on a smart account. */
  ruleName: string;
}

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

function base32(bytes: Uint8Array, length: number): string {
  const bits = Array.from(bytes, (each) => each.toString(2).padStart(8, "0")).join("");
  const digits = Array.from({ length }, (_, at) => Number.parseInt(bits.slice(5 * at, 5 * at + 5), 2));
  return digits.map((each) => ALPHABET[each]).join("");
}

/**
 * Computes the policy id of a session specification from the XDR that is signed: the SHA-256 of a
 * label, a zero byte, the network's id and those bytes. Throws `Undecodable` if they begin no map.
 */
export async function computePolicyId(network: keyof typeof PASSPHRASES, spec: Uint8Array): Promise<PolicyId> {
  if (spec.length > MAX_BYTES) throw new Undecodable("The specification is too long.");
  const reader = new XdrReader(spec);
  reader.expect(MAP, "The specification is no map.");
  reader.expect(PRESENT, "The specification is no map.");
  const networkId = await sha256(new TextEncoder().encode(PASSPHRASES[network]));
  const id = await sha256(Uint8Array.of(...LABEL, ...networkId, ...spec));
  return {
    hex: Array.from(id, (each) => each.toString(16).padStart(2, "0")).join(""),
    short: `pol_${base32(id, SHORT)}`,
    ruleName: `x4:${base32(id, RULE_NAME)}`,
  };
}
