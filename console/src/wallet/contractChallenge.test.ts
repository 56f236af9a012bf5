import { expect, test } from "vitest";
import { readContractChallenge } from "./contractChallenge";
import vectors from "./contractChallenge.vectors.json";
import { Undecodable } from "./decodeXdr";

const { expected, issued, refused } = vectors;

test("a challenge gives the preimage to sign, and takes its signature in both forms", async () => {
  const challenge = await readContractChallenge(issued.document, expected);
  expect(challenge.preimage).toBe(issued.preimage);
  expect(challenge.complete(issued.signatureValue)).toBe(issued.signed);
  expect(challenge.complete(issued.signature)).toBe(issued.signed);
});

test("the network is part of what is signed", async () => {
  const other = { ...expected, networkPassphrase: "Public Global Stellar Network ; September 2015" };
  const challenge = await readContractChallenge(issued.document, other);
  expect(challenge.preimage).not.toBe(issued.preimage);
});

test.each(refused)("refuses $name", async ({ document }) => {
  await expect(readContractChallenge(document, expected)).rejects.toThrow(Undecodable);
});

test("refuses a challenge that was cut off anywhere", async () => {
  const bytes = atob(issued.document);
  for (let length = 0; length < bytes.length; length += 1) {
    await expect(readContractChallenge(btoa(bytes.slice(0, length)), expected)).rejects.toThrow(Undecodable);
  }
});

test("refuses a signature that is none", async () => {
  const challenge = await readContractChallenge(issued.document, expected);
  for (const text of ["", "AAA=", "no base64"]) expect(() => challenge.complete(text)).toThrow(Undecodable);
});
