import { useRef } from "react";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Checkbox, Select, TextArea } from "@/ui/Field";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { sumUnits } from "@/ui/money";
import { Section } from "@/ui/Page";
import { saveFile } from "@/ui/saveFile";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { announce } from "@/ui/toast";
import styles from "./Automation.module.css";
import type { RecipientLine } from "./recipients";
import { legsOf, readRecipients, recipientsCsv } from "./recipients";
import { TokenField } from "./TokenField";
import type { PlanForm } from "./usePlanForm";

const MOST_BYTES = 200_000;

const COLUMNS: readonly Column<RecipientLine>[] = [
  { id: "line", label: "Line", cell: (each) => <span className="numbers soft">{each.line}</span> },
  { id: "to", label: "Recipient", cell: (each) => (each.to === "" ? <span className="soft">none</span> : <Identifier id={each.to} name="the recipient" />) },
  { id: "amount", label: "Amount", align: "end", cell: (each) => <span className="numbers foreign">{each.amount}</span> },
  { id: "ref", label: "Reference", cell: (each) => <span className="foreign">{each.ref}</span> },
  {
    id: "state",
    label: "Check",
    cell: (each) =>
      each.problem === null ? (
        <Badge tone="good">Fine</Badge>
      ) : (
        <span className={styles["lineProblem"]}>
          <Badge tone={each.isDuplicate ? "warn" : "bad"}>{each.isDuplicate ? "Duplicate" : "Wrong"}</Badge> {each.problem}
        </span>
      ),
  },
];

function LoadFile({ onText }: { onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const load = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > MOST_BYTES) announce("The file is too large: 200 kB at most.", "bad");
    else onText(await file.text());
  };
  return (
    <>
      <Button size="small" onClick={() => input.current?.click()}>
        Load a CSV file
      </Button>
      <input
        ref={input}
        type="file"
        accept=".csv,.txt,text/csv,text/plain"
        className="visually-hidden"
        aria-label="CSV file of recipients"
        tabIndex={-1}
        onChange={({ target }) => {
          void load(target.files?.[0]);
          target.value = "";
        }}
      />
    </>
  );
}

function Recipients({ form, lines }: { form: PlanForm; lines: RecipientLine[] }) {
  const token = form.tokenOf(form.draft["token"] ?? "");
  const fine = lines.filter((each) => each.problem === null);
  const total = sumUnits(legsOf(fine, token.decimals).map((each) => each.amount));
  const save = () => saveFile("recipients.csv", "text/csv", recipientsCsv(legsOf(lines, token.decimals), token.decimals));
  return (
    <div className="stack">
      <div className="row">
        <span>
          {fine.length} of {lines.length} {lines.length === 1 ? "line is" : "lines are"} fine;{" "}
          <Money amount={total} {...token} /> a run.
        </span>
        <Button size="small" onClick={save} disabled={fine.length < lines.length}>
          Save as CSV
        </Button>
      </div>
      <Table name="Recipients" columns={COLUMNS} rows={lines} rowKey={(each) => String(each.line)} />
    </div>
  );
}

/** Who is paid by a disbursement, pasted or from a file, each line checked. */
export function PayFields({ form }: { form: PlanForm }) {
  const text = form.draft["recipients"] ?? "";
  const lines = readRecipients(text, form.tokenOf(form.draft["token"] ?? "").decimals);
  return (
    <Section title="Payments" description="Paste a line each: address, amount, reference. Columns of a spreadsheet work as they are.">
      <div className="stack">
        <TokenField form={form} name="token" label="Token" />
        <div className={styles["code"]}>
          <TextArea
            label="Recipients"
            rows={6}
            placeholder={"GA…,12.50,Invoice 17\nGB…,3,Invoice 18"}
            hint="The reference is your own note; it appears in receipts and not on the ledger."
            {...form.field("recipients")}
          />
        </div>
        <div className="row">
          <LoadFile onText={(loaded) => form.set("recipients", loaded)} />
        </div>
        {lines.length > 0 && <Recipients form={form} lines={lines} />}
        <div className={styles["pair"]}>
          <Select
            label="Paid"
            options={[
              { value: "fixed", label: "On every run" },
              { value: "once", label: "Once in all" },
            ]}
            {...form.field("payMode")}
          />
          <Select
            label="After a payment that failed"
            options={[
              { value: "stop", label: "Stop the run" },
              { value: "continue", label: "Pay the others" },
            ]}
            {...form.field("onLegError")}
          />
        </div>
        <Checkbox
          label="All of them in one transaction"
          hint="Needs a mandate. All are paid, or none."
          isChecked={form.draft["batch"] === "true"}
          onChange={(is) => form.set("batch", is ? "true" : "")}
        />
      </div>
    </Section>
  );
}
