import { Checkbox, Field } from "@/ui/Field";
import { Card, Section } from "@/ui/Page";
import styles from "./Sell.module.css";
import type { WrapperForm } from "./useWrapperForm";
import { LIMITS } from "./wrapperDraft";

/** The limits of paid requests, and whether one may be repeated. The defaults fit most APIs. */
export function LimitFields({ form }: { form: WrapperForm }) {
  const hasError = LIMITS.some(({ name }) => form.field(name).error !== undefined);
  return (
    <Section title="Limits and delivery" description="The defaults fit most APIs. A refused payment consumes nothing.">
      <Card>
        <details className={styles["fold"]} open={hasError || undefined}>
          <summary>Change the limits</summary>
          <div className={styles["pair"]}>
            {LIMITS.map(({ name, label, unit, hint }) => (
              <Field key={name} label={label} unit={unit} hint={hint} inputMode="numeric" maxLength={9} {...form.field(name)} />
            ))}
          </div>
        </details>
        <Checkbox
          label="A POST or PATCH may reach my API a second time"
          hint="After an unknown outcome the gateway sends it again. Without this the payment is owed to the buyer then."
          isChecked={form.draft["isRepeatable"] === "true"}
          onChange={(isChecked) => form.set("isRepeatable", isChecked ? "true" : "")}
        />
      </Card>
    </Section>
  );
}
