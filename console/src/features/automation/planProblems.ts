import { idsOf } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { parseUnits } from "@/ui/money";
import { argumentType, bpsOf, kindOf, readArgument, unitsOf, wordsOf } from "./planBody";
import type { TokenOf } from "./planTokens";
import { readRecipients } from "./recipients";
import { readMoment, scheduleProblems } from "./scheduleDraft";
import type { ShortestTimes } from "./scheduleDraft";

export type Problems = Record<string, string | undefined>;

export interface PlanRules extends ShortestTimes {
  runs: number;
  receivers: number;
  batchReceivers: number;
}

const CONTRACT = /^C[A-Z2-7]{55}$/;
const NO_CONTRACT = "The address of a contract: C and 55 more characters.";
const FUNCTION = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/;

const contract = (text: string): string | undefined => (CONTRACT.test(text) ? undefined : NO_CONTRACT);
const amount = (text: string, asset: string, tokenOf: TokenOf): string | undefined => {
  if (unitsOf(text, asset, tokenOf) !== null) return undefined;
  const { decimals } = tokenOf(asset);
  return decimals === null ? "A whole number of base units, from 1 on." : `A number above 0 with at most ${decimals} decimals.`;
};
const percent = (text: string, least: number, most: number): string | undefined => {
  const bps = bpsOf(text);
  return bps !== null && bps >= least * 100 && bps <= most * 100 ? undefined : `A number from ${least} to ${most}, with two decimals at most.`;
};

type Of = (name: string) => string;

function callProblems(draft: Draft, of: Of, tokenOf: TokenOf): Problems {
  const found: Problems = {
    contract: contract(of("contract")),
    wasmHash: /^([0-9a-fA-F]{64})?$/.test(of("wasmHash")) ? undefined : "64 hexadecimal digits, or nothing.",
  };
  for (const list of ["debits", "credits"]) {
    for (const id of idsOf(draft, list)) {
      const token = of(`${list}.${id}.token`);
      found[`${list}.${id}.token`] = contract(token);
      found[`${list}.${id}.amount`] = amount(of(`${list}.${id}.amount`), token, tokenOf);
    }
  }
  if (of("autolayer") === "true") return found;
  found["function"] = FUNCTION.test(of("function")) ? undefined : "The name of a function of the contract.";
  for (const id of idsOf(draft, "args")) {
    const type = argumentType(draft, id);
    if (type === "") found[`args.${id}.typeName`] = "The name of the type in the contract.";
    if (readArgument(type, draft[`args.${id}.value`] ?? "") === undefined) {
      found[`args.${id}.value`] = type === "bool" ? "true or false." : `A value of the type ${type || "above"}; lists and structures as JSON.`;
    }
  }
  return found;
}

function dcaProblems(of: Of, tokenOf: TokenOf): Problems {
  const [tokenIn, tokenOut] = [of("tokenIn"), of("tokenOut")];
  const via = wordsOf(of("via"));
  const hasOracle = of("oracle") !== "";
  const age = Number(of("oracleAge"));
  return {
    tokenIn: contract(tokenIn),
    tokenOut: contract(tokenOut) ?? (tokenIn === tokenOut ? "Another token than the one you pay with." : undefined),
    amountIn: amount(of("amountIn"), tokenIn, tokenOf),
    rateNum: amount(of("rateNum"), tokenOut, tokenOf),
    rateDen: amount(of("rateDen"), tokenIn, tokenOf),
    slippage: percent(of("slippage"), 0, 5),
    via: via.every((each) => CONTRACT.test(each)) && via.length <= 3 ? undefined : "Up to three contracts, one a line.",
    pools:
      of("venue") === "aquarius" && wordsOf(of("pools")).length !== via.length + 1
        ? `A pool for each step of the path: ${via.length + 1}.`
        : undefined,
    oracle: hasOracle ? contract(of("oracle")) : undefined,
    oracleDeviation: hasOracle ? percent(of("oracleDeviation"), 0, 99) : undefined,
    oracleAge: hasOracle && !(Number.isInteger(age) && age >= 1 && age <= 86_400) ? "Seconds from 1 to 86,400." : undefined,
  };
}

function rebalanceProblems(draft: Draft, of: Of, tokenOf: TokenOf): Problems {
  const found: Problems = {
    drift: percent(of("drift"), 0.5, 99),
    slippage: percent(of("slippage"), 0, 5),
    oracle: contract(of("oracle")),
    strategy: of("strategy") === "" ? undefined : contract(of("strategy")),
  };
  const seen = new Set<string>();
  let sum = 0;
  for (const id of idsOf(draft, "assets")) {
    const token = of(`assets.${id}.token`);
    found[`assets.${id}.token`] = contract(token) ?? (seen.has(token) ? "This token is there before." : undefined);
    found[`assets.${id}.weight`] = percent(of(`assets.${id}.weight`), 0.01, 99.99);
    found[`assets.${id}.trade`] = amount(of(`assets.${id}.trade`), token, tokenOf);
    seen.add(token);
    sum += bpsOf(of(`assets.${id}.weight`)) ?? 0;
  }
  const last = idsOf(draft, "assets").at(-1);
  if (last !== undefined && sum !== 10_000) found[`assets.${last}.weight`] ??= `The weights are ${sum / 100} % together; they have to be 100 %.`;
  return found;
}

function disbursementProblems(draft: Draft, of: Of, tokenOf: TokenOf, rules: PlanRules): Problems {
  const lines = readRecipients(draft["recipients"] ?? "", tokenOf(of("token")).decimals);
  const wrong = lines.filter((each) => each.problem !== null).length;
  const most = of("batch") === "true" ? rules.batchReceivers : rules.receivers;
  const said = lines.length === 0 ? "Paste at least one recipient." : wrong > 0 ? `${wrong} of ${lines.length} lines need a correction.` : undefined;
  return {
    token: contract(of("token")),
    recipients: said ?? (lines.length > most ? `${lines.length} recipients; ${most} are allowed.` : undefined),
  };
}

function specProblems(draft: Draft, of: Of, tokenOf: TokenOf, rules: PlanRules): Problems {
  switch (kindOf(draft)) {
    case "contract_call":
      return callProblems(draft, of, tokenOf);
    case "dca":
      return dcaProblems(of, tokenOf);
    case "rebalance":
      return rebalanceProblems(draft, of, tokenOf);
    case "disbursement":
      return disbursementProblems(draft, of, tokenOf, rules);
  }
}

/** Finds what the service would refuse, by the name of the field; the service judges again. */
export function planProblems(draft: Draft, tokenOf: TokenOf, rules: PlanRules): Problems {
  const of = (name: string) => (draft[name] ?? "").trim();
  const [runs, lateness, fee] = [Number(of("runLimit")), of("lateness"), parseUnits(of("maxFee"), 7)];
  const isCount = /^\d{1,6}$/.test(of("runLimit")) && runs >= 1 && runs <= rules.runs;
  const date = (name: string) =>
    of(name) === "" || readMoment(of(name)) !== null ? undefined : "A day and a time, or nothing.";
  return {
    title: of("title") === "" || of("title").length > 80 ? "A title has 1 to 80 characters." : undefined,
    runLimit: of("scheduleType") === "once" || isCount ? undefined : `A whole number from 1 to ${rules.runs}.`,
    lateness: /^\d{0,4}$/.test(lateness) && Number(lateness) <= 1_440 ? undefined : "Minutes from 0 to 1,440, or nothing.",
    maxFee: of("maxFee") === "" || (fee !== null && fee !== "0") ? undefined : "A number of XLM above 0, or nothing.",
    startsAt: date("startsAt"),
    expiresAt: date("expiresAt"),
    ...scheduleProblems(draft, rules),
    ...specProblems(draft, of, tokenOf, rules),
  };
}
