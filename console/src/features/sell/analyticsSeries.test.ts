import { describe, expect, test } from "vitest";
import type { Analytics } from "./analyticsSeries";
import { analyticsPlots, failuresOf, sumRevenue } from "./analyticsSeries";

const SUMMARY: Analytics["summary"] = {
  requests: 10,
  successful: 6,
  averageLatencyMs: 80,
  p50LatencyMs: 64,
  p95LatencyMs: 128,
  p99LatencyMs: 256,
  requestBytes: 0,
  responseBytes: 0,
  outcomes: { CHALLENGED: 3, UPSTREAM_SUCCESS: 5, REPLAYED: 1, UPSTREAM_ERROR: 1 },
  errors: { upstream_failed: 1 },
};
const usdc = (amount: string) => ({ network: "stellar:testnet", asset: "CUSDC", amount, payments: 1 });
const DAYS: Analytics["days"] = [
  { day: "2026-11-25", summary: SUMMARY, revenue: [usdc("9007199254740993"), { ...usdc("5"), asset: "COTHER" }] },
  { day: "2026-11-23", summary: SUMMARY, revenue: [usdc("1")] },
];
const tokenOf = (_: string, asset: string) =>
  asset === "CUSDC" ? { code: "USDC", decimals: 7 } : { code: null, decimals: null };

test("sumRevenue adds each token by itself and exactly", () => {
  expect(sumRevenue(DAYS)).toEqual([
    { ...usdc("9007199254740994"), payments: 2 },
    { ...usdc("5"), asset: "COTHER" },
  ]);
});

test("failuresOf leaves out what was delivered or shown the price", () => {
  expect(failuresOf(SUMMARY)).toBe(1);
});

describe("analyticsPlots", () => {
  const plots = analyticsPlots(DAYS, 3, "2026-11-25", tokenOf);

  test("has every day, the oldest first; a day without requests counts 0", () => {
    expect(plots.calls.times).toHaveLength(3);
    expect(plots.calls.series.map((each) => each.values)).toEqual([
      [6, 0, 6],
      [3, 0, 3],
    ]);
    expect(plots.errors.series.map((each) => each.values)).toEqual([
      [1, 0, 1],
      [0, 0, 0],
    ]);
  });

  test("leaves a gap where there is no latency", () => {
    expect(plots.latency.series[0]?.values).toEqual([64, null, 64]);
  });

  test("writes the exact amounts beside the line", () => {
    expect(plots.revenue[0]?.plot.series[0]?.texts).toEqual(["0.0000001 USDC", "0 USDC", "900,719,925.4740993 USDC"]);
    expect(plots.revenue[1]?.plot.series[0]?.texts?.[2]).toBe("5 base units");
  });
});
