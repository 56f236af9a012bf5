import { expect, test } from "vitest";
import { base64, join } from "./bytes";
import { accountAddress, addressXdr } from "./decodeAddress";
import { readBase64, XdrReader } from "./decodeXdr";
import { signedEntryXdr } from "./signedEntry";

const KEY = Uint8Array.from({ length: 32 }, (_, at) => at + 1);
const HEAD = join(Uint8Array.of(0, 0, 0, 1), addressXdr(accountAddress(KEY)), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0));
const VOID = Uint8Array.of(0, 0, 0, 1);
const CALL = Uint8Array.of(0, 0, 0, 0, 9, 9, 9, 9);
const ENTRY = base64(join(HEAD, VOID, CALL));
const SIGNATURE = base64(new Uint8Array(64).fill(7));

test("the signature takes the place of the void, and nothing else changes", () => {
  const signed = readBase64(signedEntryXdr(ENTRY, SIGNATURE), 1_000);
  expect(signed.slice(0, HEAD.length)).toEqual(HEAD);
  expect(signed.slice(-CALL.length)).toEqual(CALL);
  const reader = new XdrReader(signed.slice(HEAD.length, -CALL.length));
  expect([16, 1, 1, 17, 1, 2].map(() => reader.uint32())).toEqual([16, 1, 1, 17, 1, 2]);
  expect([reader.uint32(), String.fromCharCode(...reader.opaque(32))]).toEqual([15, "public_key"]);
  expect([reader.uint32(), reader.opaque(32)]).toEqual([13, KEY]);
  expect([reader.uint32(), String.fromCharCode(...reader.opaque(32))]).toEqual([15, "signature"]);
  expect([reader.uint32(), reader.opaque(64)]).toEqual([13, new Uint8Array(64).fill(7)]);
  reader.finish();
});

test("an entry that is signed, and a signature of another length, are refused", () => {
  expect(() => signedEntryXdr(signedEntryXdr(ENTRY, SIGNATURE), SIGNATURE)).toThrow("It is signed already.");
  expect(() => signedEntryXdr(ENTRY, base64(new Uint8Array(63)))).toThrow("64 bytes");
  expect(() => signedEntryXdr(base64(join(Uint8Array.of(0, 0, 0, 0), CALL)), SIGNATURE)).toThrow("no entry");
});
