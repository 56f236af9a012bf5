import { expect, test } from "vitest";
import { isNarrowed, queryOf, readFilters } from "./paymentFilters";

const NETWORKS = ["stellar:testnet", "stellar:pubnet"] as const;
const read = (address: Record<string, string>) => readFilters(address, NETWORKS, "stellar:testnet");

test("an empty address lists what was received on the session's network", () => {
  expect(queryOf(read({}))).toEqual({ role: "received", network: "stellar:testnet" });
  expect(isNarrowed(read({ role: "paid", network: "stellar:pubnet" }))).toBe(false);
});

test("all filters reach the query; the last day is included", () => {
  const wrapper = `wrp_${"a".repeat(22)}`;
  const filters = read({ role: "settled", network: "stellar:pubnet", state: "owed", wrapper, from: "2026-11-01", to: "2026-11-30" });
  expect(queryOf(filters)).toEqual({
    role: "settled",
    network: "stellar:pubnet",
    state: "owed",
    wrapper,
    since: "2026-11-01T00:00:00Z",
    until: "2026-12-01T00:00:00Z",
  });
  expect(isNarrowed(filters)).toBe(true);
});

test("what a wallet received or paid is of the session's network, whatever the address names", () => {
  for (const role of ["received", "paid"]) {
    expect(queryOf(read({ role, network: "stellar:pubnet" })).network).toBe("stellar:testnet");
  }
});

test.each([
  { role: "admin" },
  { network: "stellar:other" },
  { state: "toString" },
  { wrapper: "<img src=x>" },
  { from: "2026-02-30" },
  { to: "yesterday" },
])("%j is no filter", (address) => {
  expect(queryOf(read(address as never))).toEqual({ role: "received", network: "stellar:testnet" });
});
