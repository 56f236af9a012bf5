import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { describeAuth, installCommand, readSpec } from "./spec";

// the tests run in console/
const file = resolve("../src/farebox/skills/specs/x402-pay/1.0.0.json");

describe("readSpec", () => {
  test("reads a spec of the service whole", () => {
    const spec = readSpec(JSON.parse(readFileSync(file, "utf8")));
    expect(spec.actions.map(({ name, endpoint, tool }) => [name, endpoint, tool])).toEqual([
      ["quote", "POST /mcp", "paid_call"],
      ["prepare", "POST /v1/payments/prepare", null],
      ["complete", "POST /v1/payments/complete", null],
      ["paid_call", "POST /mcp", "paid_call"],
    ]);
    expect(spec.networks).toEqual(["stellar:testnet", "stellar:pubnet"]);
    expect(spec.actions.every((each) => each.errors.length > 0 && each.title !== "" && each.input !== undefined)).toBe(true);
    expect(describeAuth(spec.authMode)).toBe("no credential, a wallet's authorization entry, a payment");
  });

  test("reads anything without failing", () => {
    for (const value of [null, 7, [], {}, { actions: [null, 3], endpoints: "x", networks: [{}] }]) {
      expect(readSpec(value).networks).toEqual([]);
    }
  });
});

test("installCommand names the service and the skill", () => {
  expect(installCommand("https://pay.example.com", "x402-pay")).toContain("https://pay.example.com/v1/skills/x402-pay/SKILL.md");
});
