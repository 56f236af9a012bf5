import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readBase64, Undecodable } from "./decodeXdr";
import { computePolicyId } from "./policyId";

interface Vector {
  name: string;
  network_passphrase: string;
  spec_xdr: string;
  policy_id: string;
  short: string;
  rule_name: string;
}

// The contracts' own: contracts/checks computes them with the built contracts, the service's tests by Python.
const vectors = JSON.parse(readFileSync("../contracts/policy_id_vectors.json", "utf8")) as Vector[];
const networkOf = ({ network_passphrase: passphrase }: Vector) =>
  passphrase.startsWith("Public") ? "stellar:pubnet" : "stellar:testnet";
const bytesOf = (vector: Vector) => readBase64(vector.spec_xdr, 65_536);

test("there are vectors of both networks", () => {
  expect(vectors.length).toBeGreaterThanOrEqual(20);
  expect(new Set(vectors.map(networkOf)).size).toBe(2);
});

test.each(vectors)("computes the policy id of $name as the contracts do", async (vector) => {
  expect(await computePolicyId(networkOf(vector), bytesOf(vector))).toEqual({
    hex: vector.policy_id,
    short: vector.short,
    ruleName: vector.rule_name,
  });
});

test.each(vectors)("another network or another byte changes the policy id of $name", async (vector) => {
  const other = networkOf(vector) === "stellar:pubnet" ? "stellar:testnet" : "stellar:pubnet";
  expect((await computePolicyId(other, bytesOf(vector))).hex).not.toBe(vector.policy_id);
  const bytes = bytesOf(vector);
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] ?? 0) ^ 1;
  expect((await computePolicyId(networkOf(vector), bytes)).hex).not.toBe(vector.policy_id);
});

test.each([
  ["nothing", []],
  ["a list", [0, 0, 0, 16, 0, 0, 0, 1]],
  ["no map", [0, 0, 0, 17, 0, 0, 0, 0]],
  ["a part of the kind", [0, 0, 0]],
])("refuses %s as a specification", async (_, bytes) => {
  await expect(computePolicyId("stellar:testnet", Uint8Array.from(bytes))).rejects.toThrow(Undecodable);
});

test("refuses a specification that is too long", async () => {
  const bytes = new Uint8Array(65_537);
  bytes.set([0, 0, 0, 17, 0, 0, 0, 1]);
  await expect(computePolicyId("stellar:testnet", bytes)).rejects.toThrow(Undecodable);
});
