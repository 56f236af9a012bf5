import { Field, Select } from "@/ui/Field";
import { useState } from "react";
import type { PlanForm } from "./usePlanForm";

interface TokenFieldProps {
  form: PlanForm;
  name: string;
  label: string;
}

/** A token: one of those that are known, or any contract. */
export function TokenField({ form, name, label }: TokenFieldProps) {
  const field = form.field(name);
  const isKnown = form.known.some((each) => each.contract === field.value);
  const [isOther, setOther] = useState(!isKnown && field.value !== "");
  const choice = isOther ? "other" : isKnown ? field.value : "";
  return (
    <>
      <Select
        label={label}
        value={choice}
        error={isOther ? undefined : field.error}
        options={[
          ...(choice === "" ? [{ value: "", label: "Choose a token" }] : []),
          ...form.known.map((each) => ({ value: each.contract, label: each.name })),
          { value: "other", label: "Another token" },
        ]}
        onChange={(chosen) => {
          setOther(chosen === "other");
          form.set(name, chosen === "other" ? "" : chosen);
        }}
      />
      {isOther && <Field label={`${label}: its contract`} placeholder="C…" maxLength={56} {...field} />}
    </>
  );
}

interface AmountFieldProps extends TokenFieldProps {
  /** The contract of its token. */
  asset: string;
  hint?: string;
}

/** An amount of a token, in its own unit where the decimals are known. */
export function AmountField({ form, name, label, asset, hint }: AmountFieldProps) {
  const { code, decimals } = form.tokenOf(asset);
  return (
    <Field
      label={label}
      inputMode="decimal"
      maxLength={50}
      placeholder={decimals === null ? "10000000" : "1.5"}
      unit={decimals === null ? "base units" : (code ?? "tokens")}
      {...(hint === undefined ? {} : { hint })}
      {...form.field(name)}
    />
  );
}
