import { describe, expect, test } from "vitest";
import { base64 } from "./bytes";
import { readBase64, Undecodable } from "./decodeXdr";
import vectors from "./readInstallEntry.vectors.json";
import { MAX_SPEC_BYTES, readSessionSpec } from "./readSessionSpec";
import { writePermissionSheet } from "./writePermissionSheet";

const bytesOf = (text: string) => readBase64(text, MAX_SPEC_BYTES);

/** The sentences, or null where the bytes are refused. */
function sheetOrNull(network: string, bytes: Uint8Array): string[] | null {
  try {
    return writePermissionSheet(network, base64(bytes));
  } catch (error) {
    if (error instanceof Undecodable) return null;
    throw error;
  }
}

describe("writePermissionSheet", () => {
  test.each(vectors.sheets)("says what the service says: $name", ({ network, spec, sentences }) => {
    expect(writePermissionSheet(network, spec)).toEqual(sentences);
  });

  const oneOfEach = vectors.sheets.filter(({ name }) => /, session$|a rebalance, mandate/.test(name));
  const PART = 512;
  const parts = oneOfEach.flatMap((sheet) =>
    Array.from({ length: Math.ceil(bytesOf(sheet.spec).length / PART) }, (_, part) => ({ ...sheet, from: part * PART })),
  );
  test.each(parts)("refuses every changed byte or says something else: $name, from byte $from", (sheet) => {
    const told = sheet.sentences.join("\n");
    const bytes = bytesOf(sheet.spec);
    const untold: number[] = [];
    for (let at = sheet.from; at < Math.min(sheet.from + PART, bytes.length); at += 1) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      if (sheetOrNull(sheet.network, changed)?.join("\n") === told) untold.push(at);
    }
    expect(untold).toEqual([]);
  });

  test.each(oneOfEach.slice(0, 2))("refuses what is cut off or longer: $name", ({ network, spec }) => {
    const bytes = bytesOf(spec);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(sheetOrNull(network, bytes.slice(0, length))).toBeNull();
    }
    expect(sheetOrNull(network, Uint8Array.of(...bytes, 0, 0, 0, 0))).toBeNull();
  });

  test("says another network in other words", () => {
    const { spec } = vectors.sheets[0] ?? { spec: "" };
    const [test_, public_] = ["stellar:testnet", "stellar:pubnet"].map((each) => writePermissionSheet(each, spec));
    expect(test_).not.toEqual(public_);
  });
});

describe("readSessionSpec", () => {
  const { spec } = vectors.sheets[0] ?? { spec: "" };

  test("reads typed values", () => {
    const read = readSessionSpec(spec);
    expect(read).toMatchObject({ mode: "session", maxUses: 3, interval: 86_400n });
    expect(read.caps[0]).toMatchObject({ perRun: 500n, total: 1_500n });
  });

  /** The spec with its text changed; each is of the same length, so that only the order or name differs. */
  test.each([
    ["a key of another name", "max_uses", "max_used"],
    ["keys in another order", "not_before", "not_aaaaaa"],
    ["a mode that is none", "session", "sessioN"],
    ["a rule that is none", "Account", "account"],
  ])("refuses %s", (_, found, put) => {
    const text = String.fromCharCode(...bytesOf(spec));
    expect(text).toContain(found);
    expect(() => readSessionSpec(btoa(text.replace(found, put)))).toThrow(Undecodable);
  });

  test("refuses two keys that have changed places", () => {
    const text = String.fromCharCode(...bytesOf(spec));
    const entry = (name: string) => {
      const at = text.indexOf(name) - 8;
      return text.slice(at, at + 8 + name.length + ((4 - (name.length % 4)) % 4) + 12);
    };
    const [after, before] = [entry("not_after"), entry("not_before")];
    expect(text).toContain(after + before);
    expect(() => readSessionSpec(btoa(text.replace(after + before, before + after)))).toThrow(Undecodable);
  });
});
