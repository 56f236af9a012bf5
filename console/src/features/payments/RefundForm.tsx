import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { useTokens } from "@/api/networks";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Card, Section } from "@/ui/Page";
import { announce } from "@/ui/toast";
import styles from "./Payments.module.css";
import type { Payment } from "./paymentState";

const HASH = /^[0-9a-f]{64}$/;

export const readHash = (text: string): string => text.trim().toLowerCase();

/** How the owner of a wrapper closes an owed payment: pay back, then name the transaction. */
export function RefundForm({ payment }: { payment: Payment }) {
  const client = useQueryClient();
  const tokens = useTokens();
  const { transaction, network, asset, amount, receipt } = payment;
  const form = useForm({
    initial: { hash: "" },
    validate: ({ hash }) => ({
      hash: HASH.test(readHash(hash)) ? undefined : "A transaction hash has 64 characters, 0 to 9 and a to f.",
    }),
    submit: ({ hash }) =>
      call("POST /v1/payments/{transaction}/refund", { path: { transaction }, body: { transaction: readHash(hash) } }),
    onDone: () => {
      void client.invalidateQueries({ queryKey: keys.payments });
      void client.invalidateQueries({ queryKey: keys.wrappers });
      void client.invalidateQueries({ queryKey: keys.audit });
      announce("The refund is recorded.", "good");
    },
  });
  return (
    <Section title="Pay it back" description="The refund is read from the ledger, and it counts for one payment.">
      <Card>
        <ol className={styles["steps"]}>
          <li>
            Send <Money amount={amount} {...tokens(network, asset)} /> or more from your wallet, in the same token:{" "}
            <Identifier id={asset} name="the token's contract" network={network} />
          </li>
          <li>
            Send it to the payer: <Identifier id={receipt.payer} name="the payer" network={network} />
          </li>
          <li>Enter the hash of that transaction, so that everybody sees the payment as refunded.</li>
        </ol>
        <FormFrame form={form} name="Record the refund">
          <Field
            label="Hash of the refund's transaction"
            maxLength={80}
            inputMode="text"
            {...form.field("hash")}
          />
          <div className="row">
            <Button type="submit" kind="primary" isPending={form.isPending}>
              Record the refund
            </Button>
          </div>
        </FormFrame>
      </Card>
    </Section>
  );
}
