import type { Schema } from "@/api/types";
import { daysBetween, secondsOf } from "@/ui/days";

type UsageDay = Schema<"UsageDayBody">;

const COUNTED = [
  { label: "Settled", of: (day: UsageDay) => day.settlements.accepted },
  { label: "Verified", of: (day: UsageDay) => day.verifications.accepted },
  { label: "Refused", of: (day: UsageDay) => day.settlements.refused + day.verifications.refused },
];

/** The days of a network as lines over time: days without usage are 0, not a gap. */
export function usageSeries(items: readonly UsageDay[], network: string, first: string, last: string) {
  const byDate = new Map(items.filter((each) => each.network === network).map((each) => [each.date, each]));
  const days = daysBetween(first, last);
  return {
    times: days.map(secondsOf),
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
