import { contractAddress } from "./decodeAddress";
import { readAddress, readNetwork } from "./decodeParts";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";

/** What a signature of a HashIDPreimage allows, when it is one SEP-41 transfer and nothing else. */
export interface Transfer {
  /** CAIP-2. */
  network: string;
  /** The contract of the token (C…). */
  asset: string;
  /** Whose authorization it is: the first argument of `transfer`. */
  payer: string;
  recipient: string;
  amount: bigint;
  /** The last ledger in which it is valid. */
  expirationLedger: number;
  nonce: bigint;
}

const MAX_BYTES = 4_096;
// HashIDPreimage: ENVELOPE_TYPE_SOROBAN_AUTHORIZATION, and the same with the address (CAP-71).
const AUTHORIZATION = 9;
const AUTHORIZATION_WITH_ADDRESS = 10;
const CONTRACT_CALL = 0;
const CONTRACT = 1;
const VALUE_ADDRESS = 18;
const VALUE_I128 = 10;
const TRANSFER = "transfer";
const MAX_SYMBOL = 32;

function readAddressValue(reader: XdrReader): string {
  reader.expect(VALUE_ADDRESS, "An argument of the transfer is no address.");
  return readAddress(reader);
}

function readContract(reader: XdrReader): string {
  reader.expect(CONTRACT, "The token is no contract.");
  return contractAddress(reader.fixed(32));
}

/** The network, nonce and expiry, and the address where the preimage has one. */
function readHead(reader: XdrReader) {
  const kind = reader.uint32();
  if (kind !== AUTHORIZATION && kind !== AUTHORIZATION_WITH_ADDRESS) {
    throw new Undecodable("It is no authorization of a contract call.");
  }
  const network = readNetwork(reader);
  const nonce = reader.int64();
  const expirationLedger = reader.uint32();
  const address = kind === AUTHORIZATION_WITH_ADDRESS ? readAddress(reader) : null;
  return { network, nonce, expirationLedger, address };
}

/** `transfer(from, to, amount)` of SEP-41 without calls below it. */
function readTransfer(reader: XdrReader) {
  reader.expect(CONTRACT_CALL, "It is no call of a contract.");
  const asset = readContract(reader);
  const name = String.fromCharCode(...reader.opaque(MAX_SYMBOL));
  if (name !== TRANSFER) throw new Undecodable("It calls another function than transfer.");
  reader.expect(3, "The transfer has another number of arguments than three.");
  const payer = readAddressValue(reader);
  const recipient = readAddressValue(reader);
  reader.expect(VALUE_I128, "The amount of the transfer is no amount.");
  const amount = reader.int128();
  reader.expect(0, "It allows calls below the transfer.");
  return { asset, payer, recipient, amount };
}

/**
 * Reads what a signature of this preimage (base64 XDR) would allow.
 *
 * Throws `Undecodable` for everything but one transfer whose payer is the address that authorizes it.
 */
export function decodePayment(preimageXdr: string): Transfer {
  const reader = new XdrReader(readBase64(preimageXdr, MAX_BYTES));
  const { network, nonce, expirationLedger, address } = readHead(reader);
  const { asset, payer, recipient, amount } = readTransfer(reader);
  reader.finish();
  if (address !== null && address !== payer) {
    throw new Undecodable("It is the authorization of another account than the payer.");
  }
  if (amount <= 0n) throw new Undecodable("The amount is not above zero.");
  return { network, asset, payer, recipient, amount, expirationLedger, nonce };
}
