import type { Installation, InvocationShape, Plan, PlanDetail } from "@/api/automationTypes";
import { activatePlan } from "@/api/automations";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Actions } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import styles from "./Automation.module.css";

/** Calls as text to copy: the arguments are SCVals (XDR, base64). */
export function Invocations({ invocations, name }: { invocations: readonly InvocationShape[]; name: string }) {
  return <CodeBlock name={name} code={JSON.stringify(invocations, null, 2)} isWrapped />;
}

interface InstallByHandProps {
  plan: Plan;
  install: Installation | null;
  onActivated: (detail: PlanDetail) => void;
}

/** For a wallet that this page cannot reach: the calls to make elsewhere, and their transaction. */
export function InstallByHand({ plan, install, onActivated }: InstallByHandProps) {
  const form = useForm<{ hash: string }, PlanDetail>({
    initial: { hash: "" },
    validate: ({ hash }) => (/^[0-9a-fA-F]{64}$/.test(hash.trim()) ? {} : { hash: "64 hexadecimal digits." }),
    submit: ({ hash }) => activatePlan(plan.id, { installTxHash: hash.trim().toLowerCase() }),
    onDone: onActivated,
  });
  if (install === null) return null;
  return (
    <details className={styles["fold"]}>
      <summary>Install it by hand</summary>
      <div className="stack">
        <p>Make this call with your account in another wallet or program, then enter the hash of its transaction. The service reads it back from the ledger.</p>
        <Invocations name="the calls" invocations={install.invocations} />
        {install.unsignedTransactionXdr !== null && <CodeBlock name="the unsigned transaction" code={install.unsignedTransactionXdr} isWrapped />}
        <FormFrame form={form} name="Installed by hand">
          <Field label="Hash of the transaction" maxLength={64} {...form.field("hash")} />
          <Actions>
            <Button type="submit" isPending={form.isPending}>
              Check and activate
            </Button>
          </Actions>
        </FormFrame>
      </div>
    </details>
  );
}
