import type { UpcomingRun } from "@/api/automationTypes";
import { Time } from "@/ui/Time";
import styles from "./Automation.module.css";

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Writes a local moment with its offset as its zone has it: `Mon 2026-11-30 08:00 +01:00`. */
export function zonedText(local: string): string {
  const [, day = "", time = "", offset = ""] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})[\d:.]*(Z|[+-]\d{2}:\d{2})?$/.exec(local) ?? [];
  if (day === "") return local;
  const weekday = WEEKDAYS[new Date(`${day}T00:00:00Z`).getUTCDay()];
  return `${weekday} ${day} ${time} ${offset === "Z" || offset === "+00:00" ? "UTC" : offset}`.trim();
}

/** The next runs in the time zone of the schedule, each with what is unusual about it. */
export function RunCalendar({ runs }: { runs: readonly UpcomingRun[] }) {
  const [first] = runs;
  if (first === undefined) return <p className="soft">No run is due.</p>;
  return (
    <div className="stack">
      {first.timezone !== "UTC" && <p className="soft">Local times of {first.timezone.replaceAll("_", " ")}.</p>}
      <ol className={styles["runs"]}>
        {runs.map((each, index) => (
          <li key={each.at}>
            <span className="soft numbers">{index + 1}.</span>
            <span className="numbers">{zonedText(each.local)}</span>
            <span className="soft">
              <Time at={each.at} />
            </span>
            {each.notes.map((note) => (
              <span key={note} className={styles["runNote"]}>
                {note}
              </span>
            ))}
          </li>
        ))}
      </ol>
    </div>
  );
}
