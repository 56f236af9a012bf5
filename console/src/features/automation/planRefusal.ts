import { ApiError } from "@/api/errors";
import { asRecord } from "@/api/records";
import { idsOf } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { kindOf } from "./planBody";

const FIELDS: Record<string, string> = {
  title: "title",
  network: "network",
  runLimit: "runLimit",
  authorityMode: "authorityMode",
  missedRuns: "missedRuns",
  maxLatenessSeconds: "lateness",
  maxFeeStroops: "maxFee",
  startsAt: "startsAt",
  expiresAt: "expiresAt",
  "schedule.at": "onceAt",
  "schedule.startAt": "startAt",
  "schedule.expr": "cron",
  "schedule.timezone": "timezone",
  "spec.contract": "contract",
  "spec.function": "function",
  "spec.args": "function",
  "spec.expectedWasmHash": "wasmHash",
  "spec.venue": "venue",
  "spec.tokenIn": "tokenIn",
  "spec.tokenOut": "tokenOut",
  "spec.amountIn": "amountIn",
  "spec.slippageBps": "slippage",
  "spec.maxSlippageBps": "slippage",
  "spec.minRate": "rateNum",
  "spec.minRate.num": "rateNum",
  "spec.minRate.den": "rateDen",
  "spec.path": "via",
  "spec.pools": "pools",
  "spec.oracleFloor.oracle": "oracle",
  "spec.oracleFloor.maxDeviationBps": "oracleDeviation",
  "spec.oracleFloor.maxAgeSeconds": "oracleAge",
  "spec.oracle": "oracle",
  "spec.driftBps": "drift",
  "spec.strategy": "strategy",
  "spec.token": "token",
  "spec.legs": "recipients",
  "spec.batch": "batch",
  "spec.mode": "payMode",
  "spec.onLegError": "onLegError",
};

const LISTS: Record<string, [list: string, name: string | null]> = {
  "spec.args": ["args", "value"],
  "spec.effects.maxDebit": ["debits", null],
  "spec.effects.minCredit": ["credits", null],
  "spec.assets": ["assets", null],
  "spec.maxTradePerRun": ["assets", "trade"],
};
const NAMES: Record<string, string> = { weightBps: "weight", type: "type", token: "token", amount: "amount", value: "value" };

const SCHEDULE_FIELDS: Record<string, string> = { once: "onceAt", interval: "every", cron: "cron", condition: "pollSeconds" };

/** The field of the form for a member of the request; null where the form has none. */
export function fieldOfMember(draft: Draft, member: string): string | null {
  if (member === "schedule" || member === "schedule.everySeconds") return SCHEDULE_FIELDS[draft["scheduleType"] ?? ""] ?? null;
  if (kindOf(draft) === "disbursement" && member.startsWith("spec.legs")) return "recipients";
  const known = FIELDS[member];
  if (known !== undefined) return known;
  const [, path = "", place = "", name = ""] = /^([\w.]+)\[(\d+)\](?:\.(\w+))?/.exec(member) ?? [];
  const found = LISTS[path];
  if (found === undefined) return path === "spec.path" ? "via" : path === "spec.pools" ? "pools" : null;
  const id = idsOf(draft, found[0])[Number(place)];
  if (id === undefined) return null;
  return `${found[0]}.${id}.${found[1] === "trade" ? "trade" : (NAMES[name] ?? found[1] ?? "token")}`;
}

/** What a refusal says about one member: its field and its words; null for every other failure. */
export function readRefusal(draft: Draft, failure: unknown): { field: string; text: string } | null {
  if (!(failure instanceof ApiError)) return null;
  const { field } = asRecord(failure.details);
  if (typeof field !== "string") return null;
  const found = fieldOfMember(draft, field);
  if (found === null) return null;
  const said = failure.message.replace(/^Look at [\w.[\]]{1,100}\.\s+/, "");
  const [, line] = /^spec\.legs\[(\d+)\]/.exec(field) ?? [];
  return { field: found, text: line === undefined ? said : `Recipient ${Number(line) + 1}: ${said}` };
}
