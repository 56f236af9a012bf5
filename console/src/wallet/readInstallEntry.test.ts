import { describe, expect, test } from "vitest";
import { base64, hex } from "./bytes";
import { addressXdr } from "./decodeAddress";
import { readBase64 } from "./decodeXdr";
import { readInstallEntry } from "./readInstallEntry";
import type { EntryReading, ExpectedEntry } from "./readInstallEntry";
import vectors from "./readInstallEntry.vectors.json";

type Vector = (typeof vectors.entries)[number];

const LIMIT = 600_000;
const expectedOf = (expected: Vector["expected"]): ExpectedEntry => ({
  ...expected,
  mode: expected.mode as ExpectedEntry["mode"],
  network: expected.network as ExpectedEntry["network"],
  nonce: BigInt(expected.nonce),
});
const read = ({ entry, expected }: Pick<Vector, "entry" | "expected">) => readInstallEntry(entry, expectedOf(expected));
const sheets = new Map(vectors.sheets.map((sheet) => [sheet.name, sheet]));
const sentencesOf = ({ sheet, permissions }: Vector) => permissions ?? sheets.get(sheet ?? "")?.sentences;

async function payloadOf(preimageXdr: string): Promise<string> {
  const bytes = Uint8Array.from(readBase64(preimageXdr, LIMIT));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function accepted(reading: EntryReading): Exclude<EntryReading, { kind: "refused" }> {
  if (reading.kind === "refused") throw new Error(reading.sentence);
  return reading;
}

describe("readInstallEntry", () => {
  test.each(vectors.entries)("reads $name", async (vector) => {
    const reading = accepted(await read(vector));
    expect(reading.permissions).toEqual(sentencesOf(vector));
    expect(reading.kind).toBe(vector.expected.mode === "presigned" ? "run" : vector.expected.mode);
    expect(await payloadOf(reading.preimageXdr)).toBe(vector.payload);
    expect(reading.nonce.toString()).toBe(vector.expected.nonce);
    if (reading.kind === "run") return;
    expect(reading.contracts).toEqual(vector.contracts);
    expect(reading).toMatchObject({
      policyId: vector.expected.policyId,
      policyName: sheets.get(vector.sheet ?? "")?.policyName,
      validUntilLedger: vector.validUntilLedger,
    });
  });

  test.each(vectors.entries)("reads the preimage as it reads the entry: $name", async (vector) => {
    const reading = accepted(await read(vector));
    const again = await readInstallEntry(reading.preimageXdr, expectedOf(vector.expected));
    expect(again).toEqual(reading);
  });

  test.each(vectors.refused)("refuses $name", async (vector) => {
    const reading = await read(vector);
    expect(reading).toEqual({ kind: "refused", sentence: expect.stringMatching(/^It .*\.$/) as string });
  });

  const [first] = vectors.entries;
  if (!first) throw new Error("no vectors");
  const stated = expectedOf(first.expected);
  test.each<[name: string, change: Partial<ExpectedEntry>]>([
    ["account", { account: "GAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB7JZX" }],
    ["nonce", { nonce: stated.nonce + 1n }],
    ["last ledger", { expirationLedger: stated.expirationLedger - 1 }],
    ["policy id", { policyId: "00".repeat(32) }],
    ["network", { network: "stellar:pubnet" }],
    ["unknown network", { network: "stellar:other" as ExpectedEntry["network"] }],
    ["mode", { mode: "mandate" }],
    ["run that is signed ahead", { mode: "presigned" }],
  ])("refuses what the page does not show: another %s", async (_, change) => {
    expect((await readInstallEntry(first.entry, { ...stated, ...change })).kind).toBe("refused");
    expect((await readInstallEntry(first.entry, stated)).kind).toBe("session");
  });

  test("refuses a preimage for another network than the page shows", async () => {
    const { preimageXdr } = accepted(await read(first));
    const other: ExpectedEntry = { ...stated, network: "stellar:pubnet" };
    expect(await readInstallEntry(preimageXdr, other)).toMatchObject({
      sentence: "It is for stellar:testnet, and the plan is on stellar:pubnet.",
    });
  });

  test.each(["", "not base64", "AAAA", "A".repeat(900_000)])("refuses the text %#", async (text) => {
    expect((await readInstallEntry(text, stated)).kind).toBe("refused");
  });

  const byMode = vectors.entries.filter(({ name }) =>
    /^a keeper, session|^a contract call, mandate|^leg 1 of/.test(name),
  );
  test.each(byMode)("refuses every changed byte, or says something else: $name", async (vector) => {
    const told = JSON.stringify(plain(accepted(await read(vector))));
    const bytes = readBase64(vector.entry, LIMIT);
    const expected = expectedOf(vector.expected);
    const untold: number[] = [];
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      const reading = await readInstallEntry(base64(changed), expected);
      if (JSON.stringify(plain(reading)) === told) untold.push(at);
    }
    expect(untold).toEqual([]);
  });
});

/** What a page shows of a reading. */
function plain(reading: EntryReading): unknown {
  if (reading.kind === "refused") return reading;
  const { permissions, kind } = reading;
  return kind === "run" ? { permissions } : { permissions, contracts: reading.contracts, end: reading.validUntilLedger };
}

describe("addressXdr", () => {
  test("refuses text that is no address", () => {
    const { account } = vectors.entries[0]?.expected ?? { account: "" };
    expect(addressXdr(account)).toHaveLength(36);
    for (const text of ["", "C", `${account}A`, account.replace(/.$/, "A"), account.replace("C", "M")]) {
      expect(() => addressXdr(text)).toThrow(RangeError);
    }
  });
});
