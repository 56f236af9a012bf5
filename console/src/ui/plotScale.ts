const DAY_SECONDS = 86_400;
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const moment = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** Whether these are whole days (UTC), as the reports of the service have them. */
export const areDays = (times: readonly number[]): boolean => times.every((each) => each % DAY_SECONDS === 0);

/** Returns how moments of a plot are written: as days, as times of one day, or as both. */
export function labelWriter(times: readonly number[]): (seconds: number) => string {
  const first = times[0] ?? 0;
  const last = times[times.length - 1] ?? first;
  if (areDays(times)) return (seconds) => day.format(seconds * 1000);
  const format = last - first <= DAY_SECONDS ? time : moment;
  return (seconds) => format.format(seconds * 1000);
}

/** Steps between the labels of an axis that counts: 1, 2, 5, 10, 20, … */
export const WHOLE_STEPS: number[] = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();
