import type { Schema } from "@/api/types";
import { sumUnits } from "@/ui/money";
import { isAtLeast } from "@/ui/units";

export type Payment = Schema<"PaymentBody">;

export const PERIOD_DAYS = 30;
const DAY_MS = 86_400_000;

/** The states of a payment that moved money and was not paid back. */
const LANDED = new Set(["settled", "paid", "delivered", "owed"]);
export const hasLanded = ({ state, amount }: Payment): boolean => LANDED.has(state) && isAtLeast(amount, "0");

/** Midnight (UTC) of the first day of the period that ends today. */
export function firstDay(now: number): string {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return new Date(today - (PERIOD_DAYS - 1) * DAY_MS).toISOString();
}

/** Seconds since 1970 of each day of the period. */
export function daysOf(first: string): number[] {
  const start = Date.parse(first) / 1000;
  return Array.from({ length: PERIOD_DAYS }, (_, index) => start + index * 86_400);
}

export interface AssetSum {
  asset: string;
  amount: string;
  payments: number;
}

/** Adds up what landed, by token; the token with the most payments first. */
export function sumByAsset(payments: readonly Payment[]): AssetSum[] {
  const byAsset = new Map<string, string[]>();
  for (const { asset, amount } of payments.filter(hasLanded)) {
    const amounts = byAsset.get(asset);
    if (amounts) amounts.push(amount);
    else byAsset.set(asset, [amount]);
  }
  return [...byAsset]
    .map(([asset, amounts]) => ({ asset, amount: sumUnits(amounts), payments: amounts.length }))
    .sort((one, other) => other.payments - one.payments || one.asset.localeCompare(other.asset));
}

/** What landed on each day, in base units of one token. */
export function sumByDay(payments: readonly Payment[], asset: string, first: string): string[] {
  const start = Date.parse(first);
  const days = Array.from({ length: PERIOD_DAYS }, () => 0n);
  for (const each of payments) {
    const index = Math.floor((Date.parse(each.settledAt ?? each.sentAt) - start) / DAY_MS);
    const before = days[index];
    if (each.asset === asset && hasLanded(each) && before !== undefined) days[index] = before + BigInt(each.amount);
  }
  return days.map(String);
}

type Day = Schema<"DayBody">;

/** The average response time of all wrappers on each day, in milliseconds; null on a day without requests. */
export function latencyByDay(days: readonly Day[], first: string): (number | null)[] {
  const start = Date.parse(first);
  const sums = Array.from({ length: PERIOD_DAYS }, () => ({ ms: 0, requests: 0 }));
  for (const { day, summary } of days) {
    const sum = sums[Math.round((Date.parse(`${day}T00:00:00Z`) - start) / DAY_MS)];
    if (!sum || summary.averageLatencyMs === null) continue;
    sum.ms += summary.averageLatencyMs * summary.requests;
    sum.requests += summary.requests;
  }
  return sums.map(({ ms, requests }) => (requests === 0 ? null : Math.round(ms / requests)));
}

/** The newest payments of both lists, without one that is in both. */
export function newest(received: readonly Payment[], paid: readonly Payment[], count: number): Payment[] {
  const byHash = new Map([...received, ...paid].map((each) => [each.transaction, each]));
  return [...byHash.values()].sort((one, other) => other.sentAt.localeCompare(one.sentAt)).slice(0, count);
}
