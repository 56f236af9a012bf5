import type { Schedule } from "@/api/automationTypes";
import type { Draft } from "@/ui/draft";

export const UNITS = { minutes: 60, hours: 3_600, days: 86_400, weeks: 604_800 } as const;
export type Unit = keyof typeof UNITS;

export const SCHEDULES: Record<Schedule["type"], { label: string; what: string }> = {
  once: { label: "Once", what: "One run at a moment." },
  interval: { label: "Every so often", what: "Elapsed time: changes of the clocks shift no run." },
  cron: { label: "At local times (cron)", what: "The local time of a time zone, with its summer time." },
  condition: { label: "When the contract says so", what: "The contract's autolayer_check is asked; a yes makes a run." },
};

/** Reads the value of a `datetime-local` input, in the browser's time zone; null when it is none. */
export function readMoment(text: string): string | null {
  const at = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) ? new Date(text).getTime() : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString().replace(".000Z", "Z");
}

/** Writes a moment as a `datetime-local` input takes it. */
export function momentText(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

const WHOLE = /^[1-9]\d{0,6}$/;

export function secondsOf(draft: Draft): number | null {
  const [count, unit] = [(draft["every"] ?? "").trim(), (draft["everyUnit"] ?? "") as Unit];
  return WHOLE.test(count) && unit in UNITS ? Number(count) * UNITS[unit] : null;
}

export interface ShortestTimes {
  interval: number;
  poll: number;
}

/** Finds what is wrong with a schedule, by the name of the field; the service judges again. */
export function scheduleProblems(draft: Draft, shortest: ShortestTimes): Record<string, string | undefined> {
  const of = (name: string) => (draft[name] ?? "").trim();
  switch (of("scheduleType")) {
    case "once":
      return { onceAt: readMoment(of("onceAt")) === null ? "Choose a day and a time." : undefined };
    case "interval": {
      const seconds = secondsOf(draft);
      const isShort = seconds !== null && seconds < shortest.interval;
      return {
        every: seconds === null ? "A whole number from 1 on." : isShort ? `At least ${shortest.interval} seconds.` : undefined,
        startAt: readMoment(of("startAt")) === null ? "Choose the day and time of the first run." : undefined,
      };
    }
    case "condition": {
      const isNumber = WHOLE.test(of("pollSeconds"));
      const isLong = isNumber && Number(of("pollSeconds")) >= shortest.poll;
      return { pollSeconds: isLong ? undefined : `A whole number of seconds, at least ${shortest.poll}.` };
    }
    default:
      return {
        cron: of("cron").split(/\s+/).length === 5 ? undefined : "Five fields: minute, hour, day, month, day of the week.",
        timezone: of("timezone") === "" ? "Choose a time zone." : undefined,
      };
  }
}

/** The schedule of a draft in which `scheduleProblems` finds nothing. */
export function scheduleOf(draft: Draft): Schedule {
  const of = (name: string) => (draft[name] ?? "").trim();
  switch (of("scheduleType")) {
    case "once":
      return { type: "once", at: readMoment(of("onceAt")) ?? "" };
    case "interval":
      return { type: "interval", everySeconds: secondsOf(draft) ?? 0, startAt: readMoment(of("startAt")) ?? "" };
    case "condition":
      return { type: "condition", everySeconds: Number(of("pollSeconds")) };
    default:
      return { type: "cron", expr: of("cron").split(/\s+/).join(" "), timezone: of("timezone") };
  }
}

function showSeconds(seconds: number): string {
  const unit = (Object.entries(UNITS) as [Unit, number][]).findLast(([, length]) => seconds % length === 0);
  if (!unit) return `${seconds} seconds`;
  const count = seconds / unit[1];
  return count === 1 ? unit[0].slice(0, -1) : `${count} ${unit[0]}`;
}

/** A schedule in words. */
export function describeSchedule(schedule: Schedule): string {
  switch (schedule.type) {
    case "once":
      return "Once";
    case "interval":
      return `Every ${showSeconds(schedule.everySeconds)}`;
    case "condition":
      return `When the contract says yes, asked every ${showSeconds(schedule.everySeconds)}`;
    case "cron":
      return `${schedule.expr} in ${schedule.timezone}`;
  }
}

/** The time zones that the browser knows, its own first. */
export function timeZones(): string[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const all = typeof Intl.supportedValuesOf === "function" ? Intl.supportedValuesOf("timeZone") : [];
  return [...new Set([own, "UTC", ...all])];
}
