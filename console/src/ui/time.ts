const DAY = 86_400_000;
const STEPS: [limit: number, unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  [60_000, "second", 1_000],
  [3_600_000, "minute", 60_000],
  [DAY, "hour", 3_600_000],
  [31 * DAY, "day", DAY],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** Writes a moment as its distance from now, and as a date when it is a month away. */
export function formatRelative(at: number, now: number): string {
  const distance = at - now;
  // Two clocks are never equal: what happened just now must not be "in 2 seconds".
  if (Math.abs(distance) < 10_000) return distance > 5_000 ? "in a few seconds" : "just now";
  const step = STEPS.find(([limit]) => Math.abs(distance) < limit);
  if (!step) return day.format(at);
  return relative.format(Math.round(distance / step[2]), step[1]);
}

export const formatFull = (at: number): string => full.format(at);
export const formatShort = (at: number): string => short.format(at);
export const formatDay = (at: number): string => day.format(at);

/** Writes a length of time in words: `90` → `1 min 30 s`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
