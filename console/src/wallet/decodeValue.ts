import { readAddress } from "./decodeParts";
import { Undecodable } from "./decodeXdr";
import type { XdrReader } from "./decodeXdr";

export type NumberType =
  | "u32" | "i32" | "u64" | "i64" | "timepoint" | "duration" | "u128" | "i128" | "u256" | "i256";

/** A contract value (SCVal) of a kind that a plan can have; every other kind is `Undecodable`. */
export type ScValue =
  | { kind: "number"; type: NumberType; value: bigint }
  | { kind: "bytes" | "string" | "symbol"; raw: Uint8Array }
  /** G… or C…. */
  | { kind: "address"; address: string }
  | { kind: "bool"; value: boolean }
  | { kind: "void" }
  | { kind: "vec"; items: ScValue[] }
  | { kind: "map"; entries: [key: ScValue, value: ScValue][] };

// SCValType
const BOOL = 0;
const VOID = 1;
const BYTES = 13;
const STRING = 14;
const SYMBOL = 15;
const VEC = 16;
const MAP = 17;
const ADDRESS = 18;
const NUMBERS: Record<number, [type: NumberType, length: number, isSigned: boolean]> = {
  3: ["u32", 4, false],
  4: ["i32", 4, true],
  5: ["u64", 8, false],
  6: ["i64", 8, true],
  7: ["timepoint", 8, false],
  8: ["duration", 8, false],
  9: ["u128", 16, false],
  10: ["i128", 16, true],
  11: ["u256", 32, false],
  12: ["i256", 32, true],
};
const MAX_DEPTH = 32;
const MAX_BYTES = 65_536;
const MAX_SYMBOL = 32;
/** How many items may be counted; each takes four bytes at least, so that the bytes are the bound. */
const MAX_ITEMS = 65_536;
const SYMBOL_TEXT = /^[A-Za-z0-9_]*$/;

function readNumber(reader: XdrReader, length: number, isSigned: boolean): bigint {
  let value = 0n;
  for (const byte of reader.fixed(length)) value = (value << 8n) | BigInt(byte);
  return isSigned ? BigInt.asIntN(length * 8, value) : value;
}

/** The text of a symbol; its letters, digits and underscores are all that the network allows. */
export function readSymbol(reader: XdrReader): { raw: Uint8Array; text: string } {
  const raw = reader.opaque(MAX_SYMBOL);
  const text = String.fromCharCode(...raw);
  if (!SYMBOL_TEXT.test(text)) throw new Undecodable("A name in it has characters that none may have.");
  return { raw, text };
}

/** The number of items of a vector or map; absent ones exist in XDR and in no contract. */
function readCount(reader: XdrReader, depth: number): number {
  if (depth === 0) throw new Undecodable("Its values are nested too deeply.");
  reader.expect(1, "A list in it is absent.");
  const count = reader.uint32();
  if (count > MAX_ITEMS) throw new Undecodable("A list in it is too long.");
  return count;
}

/** Reads one value, of which no two encodings are accepted. Throws `Undecodable`. */
export function readValue(reader: XdrReader, depth = MAX_DEPTH): ScValue {
  const arm = reader.uint32();
  const number = NUMBERS[arm];
  if (number) {
    const [type, length, isSigned] = number;
    return { kind: "number", type, value: readNumber(reader, length, isSigned) };
  }
  switch (arm) {
    case BOOL: {
      const flag = reader.uint32();
      if (flag > 1) throw new Undecodable("A truth value is neither true nor false.");
      return { kind: "bool", value: flag === 1 };
    }
    case VOID:
      return { kind: "void" };
    case BYTES:
      return { kind: "bytes", raw: reader.opaque(MAX_BYTES) };
    case STRING:
      return { kind: "string", raw: reader.opaque(MAX_BYTES) };
    case SYMBOL:
      return { kind: "symbol", raw: readSymbol(reader).raw };
    case ADDRESS:
      return { kind: "address", address: readAddress(reader) };
    case VEC: {
      const items: ScValue[] = [];
      for (let left = readCount(reader, depth); left > 0; left -= 1) items.push(readValue(reader, depth - 1));
      return { kind: "vec", items };
    }
    case MAP: {
      const entries: [ScValue, ScValue][] = [];
      for (let left = readCount(reader, depth); left > 0; left -= 1) {
        entries.push([readValue(reader, depth - 1), readValue(reader, depth - 1)]);
      }
      return { kind: "map", entries };
    }
    default:
      throw new Undecodable("It has a value of a kind that no plan has.");
  }
}
