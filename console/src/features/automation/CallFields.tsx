import { Button } from "@/ui/Button";
import { Checkbox, Field, Select } from "@/ui/Field";
import { idsOf } from "@/ui/draft";
import { Section } from "@/ui/Page";
import styles from "./Automation.module.css";
import { JSON_TYPES, PLAIN_TYPES } from "./planDraft";
import { AmountField, TokenField } from "./TokenField";
import type { PlanForm } from "./usePlanForm";

const TYPES = [...PLAIN_TYPES, ...JSON_TYPES].map((each) => ({ value: each as string, label: each as string }));
const TYPE_OPTIONS = [...TYPES, { value: "other", label: "A type of the contract" }];

const HINTS: Record<string, string> = {
  address: "G… or C…, or $account for the plan's own account.",
  i128: "Digits, or $runIndex or $minOut.",
  u128: "Digits, or $runIndex or $minOut.",
  u64: "Digits, or $runIndex or $deadline(600).",
  u32: "Digits, or $runIndex.",
  bool: "true or false.",
  bytes: "Lower-case hexadecimal digits.",
  vec: 'JSON: [{"type": "u32", "value": "1"}]',
  tuple: 'JSON: [{"type": "u32", "value": "1"}]',
  map: "JSON: a list of pairs of typed values.",
  option: "JSON: null, or a typed value.",
};

function Argument({ form, id, number }: { form: PlanForm; id: string; number: number }) {
  const type = form.draft[`args.${id}.type`] ?? "";
  const hint = type === "other" ? "Text or JSON, as the type has it." : HINTS[type];
  return (
    <div className={styles["entry"]} role="group" aria-label={`Argument ${number}`}>
      <div className={styles["entryHead"]}>
        <h3>Argument {number}</h3>
        <Button kind="quiet" size="small" onClick={() => form.remove("args", id)}>
          Remove
        </Button>
      </div>
      <div className={styles["pair"]}>
        <Select label="Type" options={TYPE_OPTIONS} {...form.field(`args.${id}.type`)} />
        {type === "other" && <Field label="Name of the type" maxLength={60} {...form.field(`args.${id}.typeName`)} />}
        {type !== "void" && (
          <Field label="Value" {...(hint === undefined ? {} : { hint })} {...form.field(`args.${id}.value`)} />
        )}
      </div>
    </div>
  );
}

interface EffectListProps {
  form: PlanForm;
  list: "debits" | "credits";
  noun: string;
  verb: string;
}

function EffectList({ form, list, noun, verb }: EffectListProps) {
  return (
    <>
      {idsOf(form.draft, list).map((id, index) => (
        <div key={id} className={styles["entry"]} role="group" aria-label={`${noun} ${index + 1}`}>
          <div className={styles["entryHead"]}>
            <h3>{noun}</h3>
            <Button kind="quiet" size="small" onClick={() => form.remove(list, id)}>
              Remove
            </Button>
          </div>
          <div className={styles["pair"]}>
            <TokenField form={form} name={`${list}.${id}.token`} label="Token" />
            <AmountField form={form} name={`${list}.${id}.amount`} label="Amount" asset={form.draft[`${list}.${id}.token`] ?? ""} />
          </div>
        </div>
      ))}
      <div className="row">
        <Button
          size="small"
          onClick={() => form.add(list, { token: form.known[0]?.contract ?? "", amount: "" })}
        >
          {verb}
        </Button>
      </div>
    </>
  );
}

/** What a plan of the kind “contract call” calls, and what a run may take from the account. */
export function CallFields({ form }: { form: PlanForm }) {
  const isAutolayer = form.draft["autolayer"] === "true";
  const ids = idsOf(form.draft, "args");
  return (
    <>
      <Section title="Call" description="The function and its arguments are checked against the contract's own interface.">
        <div className="stack">
          <Field label="Contract" placeholder="C…" maxLength={56} {...form.field("contract")} />
          <Checkbox
            label="It follows the autolayer convention"
            hint="The contract has autolayer_run and decides itself whether a run is due."
            isChecked={isAutolayer}
            onChange={(is) => form.set("autolayer", is ? "true" : "")}
          />
          {!isAutolayer && <Field label="Function" placeholder="deposit" maxLength={32} {...form.field("function")} />}
          {!isAutolayer && ids.map((id, index) => <Argument key={id} form={form} id={id} number={index + 1} />)}
          {!isAutolayer && (
            <div className="row">
              <Button size="small" onClick={() => form.add("args", { type: "address", typeName: "", value: "" })}>
                Add an argument
              </Button>
            </div>
          )}
        </div>
      </Section>
      <Section
        title="Limits of a run"
        description="A run that would take more, or give less, is not sent. Without an entry no token may leave your account."
      >
        <EffectList form={form} list="debits" noun="May take at most" verb="Allow a token to be taken" />
        <EffectList form={form} list="credits" noun="Has to give at least" verb="Require a token to be given" />
      </Section>
    </>
  );
}
