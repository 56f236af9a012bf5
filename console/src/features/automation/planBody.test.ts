import { describe, expect, test } from "vitest";
import { ApiError } from "@/api/errors";
import { addTo, idsOf } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { bodyOf, bpsOf, readArgument } from "./planBody";
import { newPlanDraft } from "./planDraft";
import { planProblems } from "./planProblems";
import { fieldOfMember, readRefusal } from "./planRefusal";

const contract = (letter: string): string => `C${letter.repeat(55)}`;
const USDC = contract("A");
const OTHER = contract("B");
const RULES = { interval: 60, poll: 30, runs: 1_000, receivers: 32, batchReceivers: 100 };
const tokenOf = (asset: string) => (asset === USDC ? { code: "USDC", decimals: 7 } : { code: null, decimals: null });
const CONTEXT = { network: "stellar:testnet" as const, usdc: USDC, venue: "soroswap", now: Date.parse("2026-12-01T08:00:00Z") };

const wrong = (draft: Draft): string[] =>
  Object.entries(planProblems(draft, tokenOf, RULES)).flatMap(([name, problem]) => (problem === undefined ? [] : [name]));

describe("the request of a plan", () => {
  test("a call has its typed arguments and the effects in base units", () => {
    let draft: Draft = { ...newPlanDraft("contract_call", CONTEXT), title: "Keep", contract: OTHER, function: "deposit", maxFee: "0.3" };
    draft = addTo(draft, "args", { type: "address", typeName: "", value: "$account" });
    draft = addTo(draft, "args", { type: "vec", typeName: "", value: '[{"type":"u32","value":"1"}]' });
    draft = addTo(draft, "args", { type: "bool", typeName: "", value: "true" });
    draft = addTo(draft, "debits", { token: USDC, amount: "1.5" });
    expect(wrong(draft)).toEqual([]);
    const body = bodyOf(draft, tokenOf);
    expect(body.spec).toEqual({
      contract: OTHER,
      function: "deposit",
      args: [
        { type: "address", value: "$account" },
        { type: "vec", value: [{ type: "u32", value: "1" }] },
        { type: "bool", value: true },
      ],
      effects: { maxDebit: [{ token: USDC, amount: "15000000" }], minCredit: [] },
    });
    expect([body.maxFeeStroops, body.runLimit, body.authorityMode]).toEqual(["3000000", 12, undefined]);
  });

  test("a purchase writes percents as basis points, and the rate in base units of both tokens", () => {
    const draft = { ...newPlanDraft("dca", CONTEXT), title: "Buy", tokenOut: OTHER, amountIn: "5", rateNum: "20", rateDen: "1" };
    expect(wrong(draft)).toEqual([]);
    expect(bodyOf(draft, tokenOf).spec).toEqual({
      venue: "soroswap",
      tokenIn: USDC,
      tokenOut: OTHER,
      amountIn: "50000000",
      slippageBps: 100,
      minRate: { num: "20", den: "10000000" },
    });
    expect([bpsOf("0.5"), bpsOf("0.005"), bpsOf("x")]).toEqual([50, null, null]);
  });

  test("weights have to be 100 % together", () => {
    const draft = newPlanDraft("rebalance", CONTEXT);
    const [first = "", last = ""] = idsOf(draft, "assets");
    const filled: Draft = {
      ...draft,
      title: "Hold",
      oracle: OTHER,
      [`assets.${first}.trade`]: "1",
      [`assets.${last}.token`]: OTHER,
      [`assets.${last}.trade`]: "100",
    };
    expect(wrong(filled)).toEqual([]);
    expect(wrong({ ...filled, [`assets.${first}.weight`]: "40" })).toEqual([`assets.${last}.weight`]);
  });

  test("a single run is one run whatever the limit says", () => {
    const draft = { ...newPlanDraft("disbursement", CONTEXT), title: "Pay", recipients: `G${"A".repeat(55)},2`, scheduleType: "once", runLimit: "" };
    expect(wrong(draft)).toEqual([]);
    expect(bodyOf(draft, tokenOf).runLimit).toBe(1);
  });

  test("an argument that is no value of its type is found", () => {
    expect(readArgument("bool", "yes")).toBeUndefined();
    expect(readArgument("map", "{")).toBeUndefined();
    expect(readArgument("void", "")).toEqual({ type: "void", value: null });
    expect(readArgument("Choice", '{"case":"A","values":[]}')?.value).toEqual({ case: "A", values: [] });
  });
});

test("a refusal stands at the field of the member that it names", () => {
  const draft = addTo(newPlanDraft("contract_call", CONTEXT), "args", { type: "u32", typeName: "", value: "" });
  const [id] = idsOf(draft, "args");
  expect(fieldOfMember(draft, "spec.args[0].value[2]")).toBe(`args.${id}.value`);
  expect(fieldOfMember(draft, "spec.args[0].type")).toBe(`args.${id}.type`);
  expect(fieldOfMember(draft, "spec.args[7]")).toBeNull();
  expect(fieldOfMember(draft, "schedule")).toBe("every");
  expect(fieldOfMember({ ...draft, kind: "disbursement" }, "spec.legs[3].to")).toBe("recipients");
  const members = { status: 422, code: "spec_mismatch", message: "Look at spec.legs[3].to. It is no u32.", requestId: null, retryAfterSeconds: null };
  const refused = new ApiError({ ...members, details: { field: "spec.legs[3].to" } });
  expect(readRefusal({ ...draft, kind: "disbursement" }, refused)).toEqual({ field: "recipients", text: "Recipient 4: It is no u32." });
  expect(readRefusal(draft, new ApiError({ ...members, details: null }))).toBeNull();
});
