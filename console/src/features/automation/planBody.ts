import type { AuthorityMode, MissedRuns, PlanKind, PlanRequest, PlanSpec, TokenAmount, TypedArgument } from "@/api/automationTypes";
import type { Network } from "@/api/types";
import { idsOf } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { parseUnits } from "@/ui/money";
import type { TokenOf } from "./planTokens";
import { legsOf, readRecipients } from "./recipients";
import { readMoment, scheduleOf } from "./scheduleDraft";

const of = (draft: Draft, name: string): string => (draft[name] ?? "").trim();
const STROOPS = 7;

/** Base units of what was typed as tokens, or as base units where the decimals are not known. */
export const unitsOf = (text: string, asset: string, tokenOf: TokenOf): string | null => {
  const units = parseUnits(text, tokenOf(asset).decimals ?? 0);
  return units === "0" ? null : units;
};

/** Hundredths of a percent; null when it is no number with at most two decimals. */
export function bpsOf(percent: string): number | null {
  const units = parseUnits(percent, 2);
  return units === null || units.length > 6 ? null : Number(units);
}

export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((each) => each !== "");

/** Reads the typed value of an argument: JSON where a text cannot hold it. Undefined when it is no value. */
export function readArgument(type: string, text: string): TypedArgument | undefined {
  const typed = text.trim();
  if (type === "void") return { type, value: null };
  if (type === "bool") return typed === "true" || typed === "false" ? { type, value: typed === "true" } : undefined;
  if (type === "string") return { type, value: text };
  if (!/^(vec|tuple|map|option)$/.test(type) && !/^[[{]/.test(typed)) return typed === "" ? undefined : { type, value: typed };
  try {
    return { type, value: JSON.parse(typed) as unknown };
  } catch {
    return undefined;
  }
}

/** The type of an argument: one of the list, or the name of a type of the contract. */
export const argumentType = (draft: Draft, id: string): string => {
  const chosen = of(draft, `args.${id}.type`);
  return chosen === "other" ? of(draft, `args.${id}.typeName`) : chosen;
};

const amountsOf = (draft: Draft, list: string, tokenOf: TokenOf): TokenAmount[] =>
  idsOf(draft, list).map((id) => {
    const [token, amount] = [of(draft, `${list}.${id}.token`), of(draft, `${list}.${id}.amount`)];
    return { token, amount: unitsOf(amount, token, tokenOf) ?? amount };
  });

function callSpec(draft: Draft, tokenOf: TokenOf): PlanSpec {
  const isAutolayer = of(draft, "autolayer") === "true";
  const args = idsOf(draft, "args").map((id) => {
    const type = argumentType(draft, id);
    return readArgument(type, draft[`args.${id}.value`] ?? "") ?? { type, value: draft[`args.${id}.value`] ?? "" };
  });
  return {
    contract: of(draft, "contract"),
    ...(isAutolayer ? { autolayer: true } : { function: of(draft, "function"), args }),
    effects: { maxDebit: amountsOf(draft, "debits", tokenOf), minCredit: amountsOf(draft, "credits", tokenOf) },
    ...(of(draft, "wasmHash") === "" ? {} : { expectedWasmHash: of(draft, "wasmHash").toLowerCase() }),
  };
}

function dcaSpec(draft: Draft, tokenOf: TokenOf): PlanSpec {
  const [tokenIn, tokenOut] = [of(draft, "tokenIn"), of(draft, "tokenOut")];
  const via = wordsOf(of(draft, "via"));
  const oracle = of(draft, "oracle");
  const floor = {
    oracle,
    maxDeviationBps: bpsOf(of(draft, "oracleDeviation")) ?? 0,
    maxAgeSeconds: Number(of(draft, "oracleAge")),
  };
  return {
    venue: of(draft, "venue"),
    tokenIn,
    tokenOut,
    amountIn: unitsOf(of(draft, "amountIn"), tokenIn, tokenOf) ?? of(draft, "amountIn"),
    slippageBps: bpsOf(of(draft, "slippage")) ?? 0,
    minRate: {
      num: unitsOf(of(draft, "rateNum"), tokenOut, tokenOf) ?? of(draft, "rateNum"),
      den: unitsOf(of(draft, "rateDen"), tokenIn, tokenOf) ?? of(draft, "rateDen"),
    },
    ...(via.length === 0 ? {} : { path: [tokenIn, ...via, tokenOut] }),
    ...(of(draft, "venue") === "aquarius" ? { pools: wordsOf(of(draft, "pools")) } : {}),
    ...(oracle === "" ? {} : { oracleFloor: floor }),
  };
}

function rebalanceSpec(draft: Draft, tokenOf: TokenOf): PlanSpec {
  const ids = idsOf(draft, "assets");
  const tokenAt = (id: string) => of(draft, `assets.${id}.token`);
  return {
    assets: ids.map((id) => ({ token: tokenAt(id), weightBps: bpsOf(of(draft, `assets.${id}.weight`)) ?? 0 })),
    maxTradePerRun: ids.map((id) => {
      const amount = of(draft, `assets.${id}.trade`);
      return { token: tokenAt(id), amount: unitsOf(amount, tokenAt(id), tokenOf) ?? amount };
    }),
    driftBps: bpsOf(of(draft, "drift")) ?? 0,
    maxSlippageBps: bpsOf(of(draft, "slippage")) ?? 0,
    oracle: of(draft, "oracle"),
    venue: of(draft, "venue"),
    ...(of(draft, "strategy") === "" ? {} : { strategy: of(draft, "strategy") }),
  };
}

function disbursementSpec(draft: Draft, tokenOf: TokenOf): PlanSpec {
  const token = of(draft, "token");
  const { decimals } = tokenOf(token);
  return {
    token,
    legs: legsOf(readRecipients(draft["recipients"] ?? "", decimals), decimals),
    mode: of(draft, "payMode"),
    onLegError: of(draft, "onLegError"),
    batch: of(draft, "batch") === "true",
  };
}

const SPECS: Record<PlanKind, (draft: Draft, tokenOf: TokenOf) => PlanSpec> = {
  contract_call: callSpec,
  dca: dcaSpec,
  rebalance: rebalanceSpec,
  disbursement: disbursementSpec,
};

export const kindOf = (draft: Draft): PlanKind => of(draft, "kind") as PlanKind;

/** Makes the request of a draft in which `planProblems` finds nothing. */
export function bodyOf(draft: Draft, tokenOf: TokenOf): PlanRequest {
  const kind = kindOf(draft);
  const [mode, missed, fee] = [of(draft, "authorityMode"), of(draft, "missedRuns"), of(draft, "maxFee")];
  const [startsAt, expiresAt] = [readMoment(of(draft, "startsAt")), readMoment(of(draft, "expiresAt"))];
  return {
    network: of(draft, "network") as Network,
    kind,
    title: of(draft, "title"),
    schedule: scheduleOf(draft),
    spec: SPECS[kind](draft, tokenOf),
    runLimit: of(draft, "scheduleType") === "once" ? 1 : Number(of(draft, "runLimit")),
    ...(mode === "" ? {} : { authorityMode: mode as AuthorityMode }),
    ...(missed === "" ? {} : { missedRuns: missed as MissedRuns }),
    ...(of(draft, "lateness") === "" ? {} : { maxLatenessSeconds: 60 * Number(of(draft, "lateness")) }),
    ...(fee === "" ? {} : { maxFeeStroops: parseUnits(fee, STROOPS) ?? fee }),
    ...(startsAt === null ? {} : { startsAt }),
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(of(draft, "allowDuplicate") === "true" ? { allowDuplicate: true } : {}),
  };
}
