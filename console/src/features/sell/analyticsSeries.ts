import type { Schema } from "@/api/types";
import { addDays, daysBetween, secondsOf } from "@/ui/days";
import { formatUnits, sumUnits } from "@/ui/money";
import type { TokenOf } from "./wrapperDraft";

export type Analytics = Schema<"AnalyticsBody">;
type Day = Analytics["days"][number];
type Summary = Analytics["summary"];

/** Revenue in one token of one network. */
export interface Revenue {
  network: string;
  asset: string;
  amount: string;
  payments: number;
}

const sameToken = (a: { network: string; asset: string }, b: { network: string; asset: string }): boolean =>
  a.network === b.network && a.asset === b.asset;

/** Sums the revenue of all days, one entry for each token. */
export function sumRevenue(days: readonly Day[]): Revenue[] {
  const sums: Revenue[] = [];
  for (const each of days.flatMap((day) => day.revenue)) {
    const found = sums.find((sum) => sameToken(sum, each));
    if (found) {
      found.amount = sumUnits([found.amount, each.amount]);
      found.payments += each.payments;
    } else sums.push({ ...each });
  }
  return sums;
}

const NOT_FAULTS = new Set(["CHALLENGED", "UPSTREAM_SUCCESS", "REPLAYED"]);

/** Requests that were neither shown the price nor delivered. */
export const failuresOf = ({ outcomes }: Summary): number =>
  Object.entries(outcomes).reduce((sum, [name, count]) => (NOT_FAULTS.has(name) ? sum : sum + count), 0);

/** Requests that were paid and got no whole response of the API. */
const undeliveredOf = ({ outcomes }: Summary): number => (outcomes["UPSTREAM_ERROR"] ?? 0) + (outcomes["BROKEN_OFF"] ?? 0);

const whole = (value: number): string => String(Math.round(value));
const ms = (value: number): string => (value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`);

interface PlotData {
  times: number[];
  series: {
    label: string;
    values: (number | null)[];
    format: (value: number) => string;
    texts?: string[];
  }[];
}

/** Everything that the plots show. Days without requests count 0; they have no latency. */
export function analyticsPlots(days: readonly Day[], count: number, today: string, tokenOf: TokenOf) {
  const all = daysBetween(addDays(today, 1 - count), today);
  const byDay = new Map(days.map((day) => [day.day, day]));
  const times = all.map(secondsOf);
  const line = (label: string, of: (day: Day) => number | null, otherwise: number | null, format: (value: number) => string) => ({
    label,
    format,
    values: all.map((name) => {
      const day = byDay.get(name);
      return day ? of(day) : otherwise;
    }),
  });
  const calls: PlotData = {
    times,
    series: [
      line("Delivered", ({ summary }) => summary.successful, 0, whole),
      line("Shown the price", ({ summary }) => summary.outcomes["CHALLENGED"] ?? 0, 0, whole),
    ],
  };
  const latency: PlotData = {
    times,
    series: [
      line("Median", ({ summary }) => summary.p50LatencyMs, null, ms),
      line("95 of 100", ({ summary }) => summary.p95LatencyMs, null, ms),
    ],
  };
  const errors: PlotData = {
    times,
    series: [
      line("Paid, not delivered", ({ summary }) => undeliveredOf(summary), 0, whole),
      line("Refused or failed", ({ summary }) => failuresOf(summary) - undeliveredOf(summary), 0, whole),
    ],
  };
  const revenue = sumRevenue(days).map((sum) => ({ token: sum, plot: revenuePlot(sum, all, byDay, tokenOf) }));
  return { calls, latency, errors, revenue };
}

function revenuePlot(sum: Revenue, all: readonly string[], byDay: Map<string, Day>, tokenOf: TokenOf): PlotData {
  const { code, decimals } = tokenOf(sum.network, sum.asset);
  const unit = decimals === null ? "base units" : (code ?? "");
  const amounts = all.map((name) => byDay.get(name)?.revenue.find((each) => sameToken(each, sum))?.amount ?? "0");
  const texts = amounts.map((amount) => `${formatUnits(amount, decimals ?? 0) ?? amount} ${unit}`);
  return {
    times: all.map(secondsOf),
    series: [
      {
        label: "Revenue",
        values: amounts.map((amount) => Number(amount) / 10 ** (decimals ?? 0)),
        format: (value) => `${Number(value.toPrecision(6))} ${unit}`,
        texts,
      },
    ],
  };
}

/** The outcomes of requests in words, in the order in which they matter. */
export const OUTCOMES: Record<string, string> = {
  CHALLENGED: "Shown the price",
  UPSTREAM_SUCCESS: "Paid and delivered",
  REPLAYED: "Delivered again, not charged",
  UPSTREAM_ERROR: "Paid, not delivered by your API",
  BROKEN_OFF: "The connection ended within the response",
  SETTLE_PENDING: "Outcome of the payment not known yet",
  SETTLE_FAILED: "The payment failed on the ledger, or can no longer land",
  VERIFY_FAILED: "The payment was refused, nothing was sent",
  RATE_LIMITED: "Refused: too many requests a minute",
  QUOTA_EXCEEDED: "Refused: the month's requests are used up",
  REFUSED: "Refused: it could not be served",
  GATEWAY_ERROR: "The gateway failed",
};
