/** The bytes are not what is expected. Nothing is signed then. */
export class Undecodable extends Error {
  readonly kind = "undecodable";

  constructor(message: string) {
    super(message);
    this.name = "Undecodable";
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Reads canonical base64 of at most `limit` bytes. Throws `Undecodable`. */
export function readBase64(text: string, limit: number): Uint8Array {
  if (text.length > Math.ceil(limit / 3) * 4 || !BASE64.test(text)) throw new Undecodable("It is no base64.");
  const binary = atob(text);
  // Two texts must not stand for the same bytes.
  if (btoa(binary) !== text) throw new Undecodable("It is no canonical base64.");
  return Uint8Array.from(binary, (each) => each.charCodeAt(0));
}

/** Reads XDR (RFC 4506) from its beginning to its end. Each method throws `Undecodable`. */
export class XdrReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** How many bytes were read. */
  get position(): number {
    return this.#at;
  }

  fixed(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Undecodable("It ends too early.");
    const found = this.#bytes.slice(this.#at, end);
    this.#at = end;
    return found;
  }

  uint32(): number {
    const bytes = this.fixed(4);
    return new DataView(bytes.buffer).getUint32(0);
  }

  int64(): bigint {
    const bytes = this.fixed(8);
    return new DataView(bytes.buffer).getBigInt64(0);
  }

  uint64(): bigint {
    const bytes = this.fixed(8);
    return new DataView(bytes.buffer).getBigUint64(0);
  }

  /** A signed number of 128 bits. */
  int128(): bigint {
    const high = this.int64();
    return (high << 64n) + this.uint64();
  }

  /** Bytes of a stated length, filled up with zeros to a multiple of four. */
  opaque(limit: number): Uint8Array {
    const length = this.uint32();
    if (length > limit) throw new Undecodable("A part of it is too long.");
    const found = this.fixed(length);
    const padding = this.fixed((4 - (length % 4)) % 4);
    if (padding.some((each) => each !== 0)) throw new Undecodable("Its padding is not zero.");
    return found;
  }

  /** Requires one number, such as the kind of what follows. */
  expect(value: number, otherwise: string): void {
    if (this.uint32() !== value) throw new Undecodable(otherwise);
  }

  finish(): void {
    if (this.#at !== this.#bytes.length) throw new Undecodable("Something follows it.");
  }
}
