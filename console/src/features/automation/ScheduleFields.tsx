import { useMemo } from "react";
import { Field, Select } from "@/ui/Field";
import { Section } from "@/ui/Page";
import styles from "./Automation.module.css";
import { MISSED } from "./planStates";
import { SCHEDULES, timeZones, UNITS } from "./scheduleDraft";
import type { PlanForm } from "./usePlanForm";

const TYPES = Object.entries(SCHEDULES).map(([value, { label }]) => ({ value, label }));
const UNIT_OPTIONS = Object.keys(UNITS).map((value) => ({ value, label: value }));
const MISSED_OPTIONS = [
  { value: "", label: "As usual for its kind" },
  ...Object.entries(MISSED).map(([value, label]) => ({ value, label })),
];

const CRON_EXAMPLES = [
  { value: "", label: "Choose an example" },
  { value: "0 8 * * *", label: "Every day at 8:00" },
  { value: "0 8 * * 1", label: "Every Monday at 8:00" },
  { value: "0 9 1 * *", label: "On the first of a month at 9:00" },
  { value: "0 9 L * *", label: "On the last day of a month at 9:00" },
  { value: "30 17 * * 1-5", label: "On workdays at 17:30" },
];

function IntervalFields({ form }: { form: PlanForm }) {
  return (
    <div className={styles["pair"]}>
      <div className={styles["pairTight"]}>
        <Field label="Every" inputMode="numeric" maxLength={7} {...form.field("every")} />
        <Select label="Unit" options={UNIT_OPTIONS} {...form.field("everyUnit")} />
      </div>
      <Field label="First run (your local time)" type="datetime-local" {...form.field("startAt")} />
    </div>
  );
}

function CronFields({ form }: { form: PlanForm }) {
  const zones = useMemo(() => timeZones().map((value) => ({ value, label: value.replaceAll("_", " ") })), []);
  const cron = form.field("cron");
  const isExample = CRON_EXAMPLES.some((each) => each.value === cron.value);
  return (
    <div className={styles["pair"]}>
      <Field label="Cron expression" hint="Minute, hour, day, month, day of the week." maxLength={128} {...cron} />
      <Select label="Example" options={CRON_EXAMPLES} value={isExample ? cron.value : ""} onChange={(value) => value !== "" && form.set("cron", value)} />
      <Select label="Time zone" options={zones} {...form.field("timezone")} />
    </div>
  );
}

/** When the plan runs, how often, and what it does about runs that it missed. */
export function ScheduleFields({ form, isCall }: { form: PlanForm; isCall: boolean }) {
  const type = form.draft["scheduleType"] ?? "";
  const types = isCall && form.draft["autolayer"] === "true" ? TYPES : TYPES.filter((each) => each.value !== "condition" || type === "condition");
  return (
    <Section title="Schedule" description={SCHEDULES[type as keyof typeof SCHEDULES]?.what ?? ""}>
      <div className="stack">
        <Select label="Runs" options={types} {...form.field("scheduleType")} />
        {type === "once" && <Field label="At (your local time)" type="datetime-local" {...form.field("onceAt")} />}
        {type === "interval" && <IntervalFields form={form} />}
        {type === "cron" && <CronFields form={form} />}
        {type === "condition" && (
          <Field label="Ask every" unit="seconds" inputMode="numeric" maxLength={7} {...form.field("pollSeconds")} />
        )}
        <div className={styles["pair"]}>
          {type !== "once" && (
            <Field label="Number of runs" inputMode="numeric" maxLength={6} hint="You pay for these runs; more cannot be added to the plan." {...form.field("runLimit")} />
          )}
          {type !== "condition" && <Select label="If a run is missed" options={MISSED_OPTIONS} {...form.field("missedRuns")} />}
        </div>
      </div>
    </Section>
  );
}
