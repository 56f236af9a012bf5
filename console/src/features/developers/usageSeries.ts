import type { Schema } from "@/api/types";

type UsageDay = Schema<"UsageDayBody">;

const COUNTED = [
  { label: "Settled", of: (day: UsageDay) => day.settlements.accepted },
  { label: "Verified", of: (day: UsageDay) => day.verifications.accepted },
  { label: "Refused", of: (day: UsageDay) => day.settlements.refused + day.verifications.refused },
];

const DAY_MS = 86_400_000;

/** Every day from the first to the last, as ISO dates in UTC; at most 400. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  const end = Date.parse(`${last}T00:00:00Z`);
  for (let at = Date.parse(`${first}T00:00:00Z`); at <= end && days.length < 400; at += DAY_MS) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

/** The days of a network as lines over time: days without usage are 0, not a gap. */
export function usageSeries(items: readonly UsageDay[], network: string, first: string, last: string) {
  const byDate = new Map(items.filter((each) => each.network === network).map((each) => [each.date, each]));
  const days = daysBetween(first, last);
  return {
    times: days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000),
    series: COUNTED.map(({ label, of }) => ({
      label,
      values: days.map((day) => {
        const found = byDate.get(day);
        return found ? of(found) : 0;
      }),
      format: (value: number) => String(Math.round(value)),
    })),
  };
}
