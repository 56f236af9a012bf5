import { expect, test } from "vitest";
import { listingsOf, toBase64, writeUnpaidHead } from "./offer";
import type { Wrapper } from "./wrapperDraft";

const term = (network: "stellar:testnet" | "stellar:pubnet", amount: string) => ({ network, asset: "CUSDC", amount, payTo: "GSELLER" });
const WRAPPER = {
  endpoint: "https://farebox.example/gateway/forecast",
  description: "Of the wrapper",
  method: null,
  otherPaths: "base",
  accepts: [term("stellar:testnet", "10"), term("stellar:pubnet", "20")],
  routes: [],
} as unknown as Wrapper;

test("writeUnpaidHead carries the offer in its header", () => {
  const offer = { error: "Payment required", resource: { description: "Über → €" } };
  const encoded = /PAYMENT-REQUIRED: (\S+)$/.exec(writeUnpaidHead(offer))?.[1] ?? "";
  const bytes = Uint8Array.from(atob(encoded), (each) => each.codePointAt(0) ?? 0);
  expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual(offer);
  expect(toBase64("")).toBe("");
});

test("a wrapper without routes has a listing on each network", () => {
  expect(listingsOf(WRAPPER).map(({ network, method, terms }) => [network, method, terms.map((each) => each.amount)])).toEqual([
    ["stellar:testnet", "GET", ["10"]],
    ["stellar:pubnet", "GET", ["20"]],
  ]);
});

test("each route is listed by itself, at its own price", () => {
  const routes = [
    { method: "POST", path: "/city/:name", accepts: [term("stellar:testnet", "5")], description: "One city" },
    { method: "GET", path: "/", accepts: undefined },
  ] as unknown as Wrapper["routes"];
  const found = listingsOf({ ...WRAPPER, routes, otherPaths: "refused" });
  expect(found.map(({ method, url, description }) => [method, url, description])).toEqual([
    ["POST", "https://farebox.example/gateway/forecast/city/:name", "One city"],
    ["GET", "https://farebox.example/gateway/forecast", "Of the wrapper"],
    ["GET", "https://farebox.example/gateway/forecast", "Of the wrapper"],
  ]);
});

test("the amount of a route replaces that of the wrapper", () => {
  const accepts = [term("stellar:testnet", "10")];
  const routes = [{ method: "GET", path: "/a", amount: "7" }] as unknown as Wrapper["routes"];
  expect(listingsOf({ ...WRAPPER, accepts, routes }).map(({ terms }) => terms[0]?.amount)).toEqual(["10", "7"]);
});
