import { describe, expect, test } from "vitest";
import type { Listing } from "./listing";
import { findListing, onEachNetwork, purchaseKey, readPurchaseKey, tokenOf } from "./listing";
import { countFilters, queryOf, readFilters, withinPrice } from "./listingFilters";
import { readReason, readUnderstanding } from "./rankReason";

const listing = (resource: string, members: object = {}): Listing =>
  ({ resource, network: "stellar:testnet", type: "http", method: "GET", accepts: [], ...members }) as unknown as Listing;

const terms = (asset: string, amount: string) => ({ accepts: [{ network: "stellar:testnet", asset, amount }] });
const usdcOf = () => "USDC";

describe("a listing", () => {
  const all = [
    listing("https://a.example/x"),
    listing("https://a.example/x", { method: "POST" }),
    listing("https://a.example/x", { network: "stellar:pubnet" }),
    listing("https://a.example/x", { toolName: "x", method: undefined, type: "mcp" }),
  ];

  test("is found by resource, network, method and tool, and by nothing less", () => {
    const wanted = { resource: "https://a.example/x", network: "stellar:testnet", method: "POST", tool: undefined };
    expect(findListing(all, wanted)).toBe(all[1]);
    expect(findListing(all, { ...wanted, method: undefined, tool: "x" })).toBe(all[3]);
    expect(findListing(all, { ...wanted, resource: "https://a.example/X" })).toBeUndefined();
  });

  test("is the same on each network", () => {
    expect(onEachNetwork(all, all[0] as Listing)).toEqual([all[0], all[2]]);
  });

  test("has a key that leads back to it", () => {
    expect(readPurchaseKey(purchaseKey(all[1] as Listing))).toEqual({
      network: "stellar:testnet",
      method: "POST",
      resource: "https://a.example/x",
    });
    expect(readPurchaseKey("nonsense")).toBeNull();
  });
});

describe("tokenOf", () => {
  const unknown = { code: null, decimals: null };

  test("takes the known token as it is", () => {
    expect(tokenOf({}, "C1", { code: "USDC", decimals: 7 })).toEqual({ code: "USDC", decimals: 7, issuer: null, isKnown: true });
  });

  test("never takes another asset of the same code for the known one", () => {
    const tokens = { C1: { kind: "asset_contract" as const, code: "USDC", issuer: "GEVIL" } };
    expect(tokenOf({ tokens }, "C1", unknown)).toEqual({ code: "USDC", decimals: 7, issuer: "GEVIL", isKnown: false });
  });

  test("knows nothing of a token with code of its own", () => {
    const tokens = { C1: { kind: "wasm" as const, code: "USDC" } };
    expect(tokenOf({ tokens }, "C1", unknown)).toMatchObject({ code: null, decimals: null });
  });
});

describe("readFilters", () => {
  test("takes the network of the console unless the address says otherwise", () => {
    expect(readFilters({}, "stellar:pubnet").network).toBe("stellar:pubnet");
    expect(readFilters({ network: "all" }, "stellar:pubnet").network).toBe("");
    expect(readFilters({ network: "stellar:testnet" }, "stellar:pubnet").network).toBe("stellar:testnet");
    expect(readFilters({ network: "<b>" }, "stellar:pubnet").network).toBe("stellar:pubnet");
  });

  test("reads the rest, and ignores what is no filter", () => {
    const filters = readFilters({ q: " rain ", type: "mcp", offset: "40", cursor: "k", max: "0.1" }, "stellar:testnet");
    expect(filters).toMatchObject({ query: "rain", type: "mcp", offset: 40, cursor: "k", maxPrice: "0.1" });
    expect(countFilters(filters)).toBe(2);
    expect(queryOf(filters)).toEqual({ network: "stellar:testnet", type: "mcp", payTo: "", extensions: "", limit: 20 });
    expect(readFilters({ type: "x", offset: "-1" }, "stellar:testnet")).toMatchObject({ type: "", offset: 0 });
  });
});

test("withinPrice keeps what costs no more in USDC", () => {
  const items = [
    listing("1", terms("USDC", "100000")),
    listing("2", terms("USDC", "100001")),
    listing("3", terms("OTHER", "1")),
    listing("4", terms("USDC", "<b>")),
  ];
  expect(withinPrice(items, "0.01", usdcOf).map((each) => each.resource)).toEqual(["1"]);
  expect(withinPrice(items, "", usdcOf)).toHaveLength(4);
  expect(withinPrice(items, "many", usdcOf)).toHaveLength(4);
});

describe("readReason", () => {
  const explain = {
    relevance: 900,
    foundBy: ["words", "meaning"],
    words: [
      { word: "weather", found: "weather", as: "itself", in: ["tags or toolName", "description"] },
      { word: "rain", found: "precipitation", as: "synonym", in: ["description"] },
      { word: "forcast", found: "forecast", as: "typo", in: [] },
    ],
    scores: { covered: 1000, weighted: 4_000, beside: 0, everyWord: true, meaning: -5 },
    freshness: "week",
    payers: 12,
  };

  test("says in sentences why a result ranks where it does", () => {
    expect(readReason(explain)).toEqual({
      sentences: [
        "“weather” in its tags, description.",
        "“precipitation” for “rain” in its description.",
        "“forecast”, meant by “forcast”, in its text.",
        "It has every word of the search.",
        "Its meaning is close to that of the search.",
        "Paid for, or listed, within a week.",
        "12 independent payers.",
      ],
      scores: [
        { label: "Words of the search that it has", value: 1000 },
        { label: "The same, weighted by where they stand", value: 1000 },
        { label: "Similarity of meaning", value: 0 },
      ],
    });
  });

  test("says nothing without an explanation, and survives any other value", () => {
    expect(readReason(undefined)).toBeNull();
    expect(readReason({ relevance: 1, words: "x", scores: 7, payers: "many" })?.sentences).toHaveLength(2);
  });

  test("readUnderstanding names the words that do as well", () => {
    const words = [{ word: "rain", role: "content", weight: 3, inPlace: ["drizzle"] }, { word: "the" }];
    expect(readUnderstanding({ words, meaning: { absent: "no model" } })).toEqual([
      "“rain” also finds “drizzle”.",
      "The search compared words alone: no language model judged the meaning.",
    ]);
    expect(readUnderstanding(null)).toEqual([]);
  });
});
