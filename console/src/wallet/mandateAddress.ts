import { join } from "./bytes";
import { addressXdr, contractAddress } from "./decodeAddress";
import { networkId } from "./decodeParts";

// ENVELOPE_TYPE_CONTRACT_ID; CONTRACT_ID_PREIMAGE_FROM_ADDRESS follows the network's id.
const CONTRACT_ID = Uint8Array.of(0, 0, 0, 8);
const FROM_ADDRESS = new Uint8Array(4);

/** The address of the mandate that a factory makes for a policy, whose id (32 bytes) is the salt. */
export async function mandateAddress(network: string, factory: string, policyId: Uint8Array): Promise<string> {
  const named = join(CONTRACT_ID, networkId(network), FROM_ADDRESS, addressXdr(factory), policyId);
  return contractAddress(new Uint8Array(await crypto.subtle.digest("SHA-256", named)));
}
