import { expect, test } from "vitest";
import { readAccountChallenge } from "./accountChallenge";
import vectors from "./accountChallenge.vectors.json";
import { Undecodable } from "./decodeXdr";

const { expected, issued, refused } = vectors;

test("a challenge that the service issues is read, with its end", () => {
  expect(readAccountChallenge(issued.document, expected)).toEqual({ endsAt: issued.endsAt });
});

test.each(refused)("refuses $name", ({ document }) => {
  expect(() => readAccountChallenge(document, expected)).toThrow(Undecodable);
});

test("refuses what was asked for by another account, or by another service", () => {
  for (const other of [
    { address: expected.signingKey },
    { signingKey: expected.address },
    { homeDomain: "evil.example" },
    { webAuthDomain: "evil.example" },
  ]) {
    expect(() => readAccountChallenge(issued.document, { ...expected, ...other })).toThrow(Undecodable);
  }
});

test("refuses a challenge that was cut off or changed anywhere but in nonce and signature", () => {
  const bytes = atob(issued.document);
  const nonceAt = bytes.indexOf(btoa(String.fromCharCode(...Array.from({ length: 48 }, (_, each) => each))));
  const free = (at: number): boolean =>
    (at >= nonceAt && at < nonceAt + 64) || at >= bytes.length - 64 || (at >= 40 && at < 44) || (at >= 56 && at < 72);
  for (let at = 0; at < bytes.length; at += 1) {
    expect(() => readAccountChallenge(btoa(bytes.slice(0, at)), expected)).toThrow(Undecodable);
    if (free(at)) continue; // nonce, signature, fee and times
    const changed = bytes.slice(0, at) + String.fromCharCode(bytes.charCodeAt(at) ^ 1) + bytes.slice(at + 1);
    expect(() => readAccountChallenge(btoa(changed), expected), `byte ${at}`).toThrow(Undecodable);
  }
});
