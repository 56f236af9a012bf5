const DAY_MS = 86_400_000;
const MOST_DAYS = 400;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Whether a text is a day of the calendar: `2026-11-25`. */
export const isDay = (text: string): boolean => {
  const at = DAY.test(text) ? startOf(text) : Number.NaN;
  return !Number.isNaN(at) && isoDay(at) === text;
};

/** The UTC day that is `days` after another, or before it. */
export const addDays = (day: string, days: number): string => isoDay(startOf(day) + days * DAY_MS);

/** The UTC day of a moment. */
export const dayOf = (at: number): string => isoDay(at);

/** Seconds since 1970 at the start of a UTC day. */
export const secondsOf = (day: string): number => startOf(day) / 1000;

/** Every UTC day from the first to the last; at most 400. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let day = first; day <= last && days.length < MOST_DAYS; day = addDays(day, 1)) days.push(day);
  return days;
}
