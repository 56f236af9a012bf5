import { Button } from "@/ui/Button";
import { idsOf } from "@/ui/draft";
import { Field, Select, TextArea } from "@/ui/Field";
import { Section } from "@/ui/Page";
import styles from "./Automation.module.css";
import { AmountField, TokenField } from "./TokenField";
import type { PlanForm } from "./usePlanForm";

const VENUES: Record<string, string> = { soroswap: "Soroswap", aquarius: "Aquarius" };

interface TradeProps {
  form: PlanForm;
  /** The exchanges that the operator has configured for the network. */
  venues: readonly string[];
}

function VenueField({ form, venues }: TradeProps) {
  const field = form.field("venue");
  const named = [...new Set([...venues, field.value].filter((each) => each !== ""))];
  const hint = venues.length === 0 ? "The operator has configured no exchange on this network." : undefined;
  return (
    <Select
      label="Exchange"
      options={named.map((each) => ({ value: each, label: VENUES[each] ?? each }))}
      {...(hint === undefined ? {} : { hint })}
      {...field}
    />
  );
}

function OracleFloor({ form }: { form: PlanForm }) {
  return (
    <details className={styles["fold"]}>
      <summary>Floor by an oracle</summary>
      <div className="stack">
        <Field label="Oracle (SEP-40)" placeholder="C…" maxLength={56} hint="Empty: the least rate above is the only floor." {...form.field("oracle")} />
        <div className={styles["pair"]}>
          <Field label="Largest deviation" unit="%" inputMode="decimal" {...form.field("oracleDeviation")} />
          <Field label="Oldest price" unit="seconds" inputMode="numeric" {...form.field("oracleAge")} />
        </div>
      </div>
    </details>
  );
}

/** What a regular purchase buys, with what, and the worst rate that it takes. */
export function DcaFields({ form, venues }: TradeProps) {
  const [tokenIn, tokenOut] = [form.draft["tokenIn"] ?? "", form.draft["tokenOut"] ?? ""];
  return (
    <Section title="Purchase" description="What is bought goes to your own account, never elsewhere.">
      <div className="stack">
        <div className={styles["pair"]}>
          <TokenField form={form} name="tokenIn" label="Pay with" />
          <AmountField form={form} name="amountIn" label="Amount of a run" asset={tokenIn} />
          <TokenField form={form} name="tokenOut" label="Buy" />
          <VenueField form={form} venues={venues} />
        </div>
        <div role="group" aria-label="Least rate" className={styles["entry"]}>
          <h3>Least rate</h3>
          <p className="soft">You sign this rate: a run that would get less fails on the ledger, whoever starts it.</p>
          <div className={styles["pair"]}>
            <AmountField form={form} name="rateNum" label="At least" asset={tokenOut} />
            <AmountField form={form} name="rateDen" label="for" asset={tokenIn} />
          </div>
        </div>
        <Field label="Largest slippage" unit="%" inputMode="decimal" hint="Below the quote of the moment; at most 5 %." {...form.field("slippage")} />
        <details className={styles["fold"]}>
          <summary>Path</summary>
          <div className="stack">
            <TextArea label="Tokens between them" placeholder="C…" hint="One contract a line; empty for the direct pair." rows={2} {...form.field("via")} />
            {form.draft["venue"] === "aquarius" && (
              <TextArea label="Pools" hint="The id of a pool for each step (64 hexadecimal digits), one a line." rows={2} {...form.field("pools")} />
            )}
          </div>
        </details>
        <OracleFloor form={form} />
      </div>
    </Section>
  );
}

/** The weights of a portfolio, and how far a run may go to restore them. */
export function RebalanceFields({ form, venues }: TradeProps) {
  const ids = idsOf(form.draft, "assets");
  return (
    <Section title="Portfolio" description="A run trades when a weight has drifted; otherwise it is skipped and costs nothing.">
      {ids.map((id, index) => (
        <div key={id} className={styles["entry"]} role="group" aria-label={`Token ${index + 1}`}>
          <div className={styles["entryHead"]}>
            <h3>Token {index + 1}</h3>
            {ids.length > 2 && (
              <Button kind="quiet" size="small" onClick={() => form.remove("assets", id)}>
                Remove
              </Button>
            )}
          </div>
          <div className={styles["pair"]}>
            <TokenField form={form} name={`assets.${id}.token`} label="Token" />
            <Field label="Weight" unit="%" inputMode="decimal" {...form.field(`assets.${id}.weight`)} />
            <AmountField form={form} name={`assets.${id}.trade`} label="Most to sell in a run" asset={form.draft[`assets.${id}.token`] ?? ""} />
          </div>
        </div>
      ))}
      {ids.length < 16 && (
        <div className="row">
          <Button size="small" onClick={() => form.add("assets", { token: "", weight: "", trade: "" })}>
            Add a token
          </Button>
        </div>
      )}
      <div className={styles["pair"]}>
        <Field label="Drift that starts a trade" unit="%" inputMode="decimal" {...form.field("drift")} />
        <Field label="Largest slippage" unit="%" inputMode="decimal" {...form.field("slippage")} />
        <VenueField form={form} venues={venues} />
        <Field label="Oracle (SEP-40)" placeholder="C…" maxLength={56} {...form.field("oracle")} />
      </div>
      <Field
        label="Strategy contract"
        placeholder="C…"
        maxLength={56}
        hint="A contract of the autolayer convention; empty where the plan's mandate trades itself."
        {...form.field("strategy")}
      />
    </Section>
  );
}
