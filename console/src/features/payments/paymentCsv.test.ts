import { expect, test } from "vitest";
import { paymentCsv } from "./paymentCsv";
import type { Payment } from "./paymentState";

const PAYMENT: Payment = {
  transaction: "ab".repeat(32),
  network: "stellar:testnet",
  asset: "CUSDC",
  amount: "90071992547409931",
  payTo: "GSELLER",
  state: "delivered",
  receipt: { success: true, transaction: "ab".repeat(32), network: "stellar:testnet", payer: "GPAYER" },
  sentAt: "2026-11-23T09:30:00Z",
  settledAt: null,
  attemptsLeft: 0,
  refund: null,
  sale: {
    wrapper: "wrp_1", slug: "-x", method: "GET", path: "=cmd|' /C calc'!A0,\"x\"", attempts: 1, upstreamStatus: 200, paidAt: null, endedAt: null,
  },
};
const usdc = () => ({ code: "USDC", decimals: 7 });

test("paymentCsv keeps every digit of an amount, without grouping", () => {
  const row = paymentCsv([PAYMENT], usdc).split("\r\n")[1] ?? "";
  expect(row).toContain(",9007199254.7409931,USDC,90071992547409931,");
});

test("paymentCsv leaves the amount empty where the decimals are not known", () => {
  const row = paymentCsv([PAYMENT], () => ({ code: null, decimals: null })).split("\r\n")[1] ?? "";
  expect(row).toContain(",stellar:testnet,,,90071992547409931,");
});

test("paymentCsv hands no formula to a spreadsheet", () => {
  const text = paymentCsv([PAYMENT], usdc);
  expect(text).toContain(`,"'-x",GET,"'=cmd|' /C calc'!A0,""x""",`);
});

test("paymentCsv has the same number of cells in every row", () => {
  const [head = "", row = ""] = paymentCsv([{ ...PAYMENT, sale: undefined as never }], usdc).split("\r\n");
  expect(row.split(",")).toHaveLength(head.split(",").length);
});
