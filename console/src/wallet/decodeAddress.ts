const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** Version bytes of SEP-23: G… is an account, C… a contract. */
const ACCOUNT = 6 << 3;
const CONTRACT = 2 << 3;

/** CRC-16/XMODEM, as SEP-23 has it. */
function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** Base32 (RFC 4648) of whole groups of five bytes: an address has 35. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

function encode(version: number, key: Uint8Array): string {
  const body = Uint8Array.of(version, ...key);
  const crc = checksum(body);
  return base32(Uint8Array.of(...body, crc & 0xff, crc >> 8));
}

/** The G… address of a public key of 32 bytes. */
export const accountAddress = (key: Uint8Array): string => encode(ACCOUNT, key);

/** The C… address of a contract id of 32 bytes. */
export const contractAddress = (id: Uint8Array): string => encode(CONTRACT, id);

/** The SCAddress (XDR) of a G… or C… address that one of the two functions above has made. */
export function addressXdr(address: string): Uint8Array {
  const bytes: number[] = [];
  let value = 0;
  let bits = 0;
  for (const each of address) {
    value = ((value << 5) | ALPHABET.indexOf(each)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >> bits) & 0xff);
    }
  }
  const key = Uint8Array.from(bytes.slice(1, 33));
  if (accountAddress(key) === address) return Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...key);
  if (contractAddress(key) === address) return Uint8Array.of(0, 0, 0, 1, ...key);
  throw new RangeError("It is no address of an account or a contract.");
}
