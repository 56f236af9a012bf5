import type { AutomationLimits, AutomationNetwork, PlanKind } from "@/api/automationTypes";
import type { Network } from "@/api/types";
import { addTo } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { momentText, timeZones } from "./scheduleDraft";

/** The types of arguments that a text can hold; the others are written as JSON. */
export const PLAIN_TYPES = [
  "address",
  "i128",
  "u128",
  "u32",
  "i32",
  "u64",
  "i64",
  "u256",
  "i256",
  "bool",
  "string",
  "symbol",
  "bytes",
  "timepoint",
  "duration",
  "void",
] as const;
export const JSON_TYPES = ["vec", "tuple", "map", "option"] as const;

const MINUTE = 60_000;

export interface DraftContext {
  network: Network;
  usdc: string;
  venue: string;
  now: number;
}

/** The form of a new plan of a kind; what the other kinds need is there as well and stays. */
export function newPlanDraft(kind: PlanKind, { network, usdc, venue, now }: DraftContext): Draft {
  const start = momentText(Math.ceil((now + 10 * MINUTE) / (10 * MINUTE)) * 10 * MINUTE);
  let draft: Draft = {
    kind,
    title: "",
    network,
    runLimit: "12",
    authorityMode: "",
    missedRuns: "",
    lateness: "",
    maxFee: "",
    startsAt: "",
    expiresAt: "",
    allowDuplicate: "",
    scheduleType: "interval",
    onceAt: start,
    every: "1",
    everyUnit: "days",
    startAt: start,
    cron: "0 8 * * 1",
    timezone: timeZones()[0] ?? "UTC",
    pollSeconds: "60",
    autolayer: "",
    contract: "",
    function: "",
    wasmHash: "",
    args: "",
    debits: "",
    credits: "",
    venue,
    tokenIn: usdc,
    tokenOut: "",
    amountIn: "",
    via: "",
    pools: "",
    slippage: "1",
    rateNum: "",
    rateDen: "",
    oracle: "",
    oracleDeviation: "3",
    oracleAge: "600",
    assets: "",
    drift: "5",
    strategy: "",
    token: usdc,
    recipients: "",
    payMode: "fixed",
    onLegError: "stop",
    batch: "",
  };
  draft = addTo(draft, "assets", { token: usdc, weight: "50", trade: "" });
  return addTo(draft, "assets", { token: "", weight: "50", trade: "" });
}

/** The network of a draft in the limits; undefined where automation is not offered. */
export const networkIn = (limits: AutomationLimits, draft: Draft): AutomationNetwork | undefined =>
  limits.networks.find((each) => each.network === draft["network"]);
