import type { AuthorityMode } from "@/api/automationTypes";
import { Checkbox, Field, Select } from "@/ui/Field";
import styles from "./Automation.module.css";
import { MODES } from "./planStates";
import type { PlanForm } from "./usePlanForm";

const NAMES = ["authorityMode", "maxFee", "lateness", "startsAt", "expiresAt"];

/** What most plans leave as it is: mode, fee limit, lateness, first and last day. */
export function AdvancedFields({ form, modes, days }: { form: PlanForm; modes: readonly AuthorityMode[]; days: number }) {
  const hasError = NAMES.some((name) => form.field(name).error !== undefined);
  const mode = form.draft["authorityMode"] as AuthorityMode | "";
  return (
    <details className={styles["fold"]} open={hasError || undefined}>
      <summary>Advanced</summary>
      <div className="stack">
        <Select
          label="How the plan is authorized"
          hint={mode === "" ? "The mode that bounds the plan best for your account." : MODES[mode]?.what}
          options={[{ value: "", label: "Choose for me" }, ...modes.map((value) => ({ value, label: MODES[value]?.label ?? value }))]}
          {...form.field("authorityMode")}
        />
        <div className={styles["pair"]}>
          <Field label="Largest network fee of a transaction" unit="XLM" inputMode="decimal" hint="The service pays it. Above it a run waits; twice pauses the plan." {...form.field("maxFee")} />
          <Field label="A run may be late by" unit="minutes" inputMode="numeric" hint="Empty: half an interval, an hour at most." {...form.field("lateness")} />
          <Field label="Not before (your local time)" type="datetime-local" {...form.field("startsAt")} />
          <Field label="Ends (your local time)" type="datetime-local" hint={`Empty: ${days} days from now. An earlier end is safer.`} {...form.field("expiresAt")} />
        </div>
        <Checkbox
          label="Allow a second plan that does the same"
          hint="Without it an equal open plan is refused, so that nothing is paid twice by mistake."
          isChecked={form.draft["allowDuplicate"] === "true"}
          onChange={(is) => form.set("allowDuplicate", is ? "true" : "")}
        />
      </div>
    </details>
  );
}
