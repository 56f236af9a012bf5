import { describe, expect, test } from "vitest";
import type { Expected } from "./decodeJudgement";
import { judgeTransfer, latestExpiry } from "./decodeJudgement";
import { decodePayment } from "./decodePayment";
import type { Transfer } from "./decodePayment";
import vectors from "./decodePayment.vectors.json";
import { Undecodable } from "./decodeXdr";

const [first] = vectors.prepared;
if (!first) throw new Error("no vectors");

function expectedOf(transfer: Transfer): Expected {
  const { network, asset, payer, recipient: payTo, amount, expirationLedger } = transfer;
  const price = { network, asset, amount: amount.toString(), payTo, maxTimeoutSeconds: 60 };
  return { price, payer, expirationLedger, ledger: { sequence: expirationLedger - 12, secondsPerLedger: 5 } };
}

const bytesOf = (text: string) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
const textOf = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

describe("decodePayment", () => {
  test.each(vectors.prepared)("reads $name", ({ preimage, transfer }) => {
    const { amount, nonce, ...rest } = decodePayment(preimage);
    expect({ ...rest, amount: amount.toString(), nonce: nonce.toString() }).toEqual(transfer);
  });

  test.each(vectors.refused)("refuses $name", ({ preimage }) => {
    expect(() => decodePayment(preimage)).toThrow(Undecodable);
  });

  test("knows the networks by the hash of their passphrases", async () => {
    const passphrases = ["Test SDF Network ; September 2015", "Public Global Stellar Network ; September 2015"];
    const seen: string[] = [];
    for (const passphrase of passphrases) {
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(passphrase)));
      const bytes = bytesOf(first.preimage);
      bytes.set(hash, 4);
      seen.push(decodePayment(textOf(bytes)).network);
    }
    expect(seen).toEqual(["stellar:testnet", "stellar:pubnet"]);
  });

  test("refuses every preimage that was cut off", () => {
    const bytes = bytesOf(first.preimage);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodePayment(textOf(bytes.slice(0, length)))).toThrow(Undecodable);
    }
  });

  test.each(["not base64", `${first.preimage}=`, ` ${first.preimage}`, "AAAB=AAA", "AB==", "A".repeat(8_000)])(
    "refuses the text %#",
    (text) => expect(() => decodePayment(text)).toThrow(Undecodable),
  );
});

describe("judgeTransfer", () => {
  test.each(vectors.prepared)("accepts what the page shows: $name", ({ preimage }) => {
    const transfer = decodePayment(preimage);
    expect(judgeTransfer(transfer, expectedOf(transfer))).toEqual([]);
  });

  const transfer = decodePayment(first.preimage);
  const expected = expectedOf(transfer);
  const other = vectors.prepared[1]?.transfer.payer ?? "";
  const changes: [name: string, changed: Transfer][] = [
    ["network", { ...transfer, network: "stellar:pubnet" }],
    ["token", { ...transfer, asset: other }],
    ["payer", { ...transfer, payer: transfer.recipient }],
    ["recipient", { ...transfer, recipient: transfer.payer }],
    ["amount", { ...transfer, amount: transfer.amount + 1n }],
    ["smaller amount", { ...transfer, amount: transfer.amount - 1n }],
    ["expiry", { ...transfer, expirationLedger: transfer.expirationLedger + 1 }],
  ];
  test.each(changes)("names the one difference: %s", (_, changed) => {
    expect(judgeTransfer(changed, expected)).toHaveLength(1);
  });

  test("refuses an expiry later than the price allows, though the service states it", () => {
    const last = latestExpiry(expected);
    const at = (expirationLedger: number) =>
      judgeTransfer({ ...transfer, expirationLedger }, { ...expected, expirationLedger });
    expect(at(last)).toEqual([]);
    expect(at(last + 1)).toHaveLength(1);
    expect(at(expected.ledger.sequence)).toHaveLength(1);
  });

  test("refuses each preimage with one changed bit, except in the nonce", () => {
    for (const { preimage } of vectors.prepared) {
      const own = decodePayment(preimage);
      const bytes = bytesOf(preimage);
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const at = bit >> 3;
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
        const isNonce = at >= 36 && at < 44;
        expect([at, isAccepted(textOf(changed), expectedOf(own))]).toEqual([at, isNonce]);
      }
    }
  });
});

function isAccepted(preimage: string, expected: Expected): boolean {
  try {
    return judgeTransfer(decodePayment(preimage), expected).length === 0;
  } catch (error) {
    if (error instanceof Undecodable) return false;
    throw error;
  }
}
