import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "@/api/client";
import { NETWORK_NAMES, useTokens } from "@/api/networks";
import { useOwner } from "@/api/session";
import { PageLink, usePathParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { CodeBlock } from "@/ui/CodeBlock";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Note } from "@/ui/Note";
import { Card, Facts, Page, Section } from "@/ui/Page";
import { Time } from "@/ui/Time";
import styles from "./Payments.module.css";
import type { Payment } from "./paymentState";
import { explain, isOpen, sideOf } from "./paymentState";
import { StateBadge } from "./PaymentTable";
import { RefundForm } from "./RefundForm";
import { usePayment } from "./usePayments";

type Fact = readonly [name: string, value: ReactNode];

function Reason({ code }: { code: string }) {
  const { data } = useQuery({
    queryKey: ["reasons"],
    queryFn: ({ signal }) => call("GET /v1/errors", {}, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const message = data?.errors.find((each) => each.code === code)?.message;
  return (
    <>
      {message} <code className="foreign">{code}</code>
    </>
  );
}

function factsOf(payment: Payment): Fact[] {
  const { network, receipt } = payment;
  return [
    ["Transaction", <Identifier key="transaction" id={payment.transaction} name="the transaction hash" network={network} />],
    ["Network", NETWORK_NAMES[network as keyof typeof NETWORK_NAMES] ?? network],
    ["Payer", <Identifier key="payer" id={receipt.payer} name="the payer" network={network} />],
    ["Recipient", <Identifier key="recipient" id={payment.payTo} name="the recipient" network={network} />],
    ["Token", <Identifier key="token" id={payment.asset} name="the token's contract" network={network} />],
    ["Sent", <Time key="sent" at={payment.sentAt} format="short" />],
    ["Settled", <Time key="settled" at={payment.settledAt} format="short" otherwise="not yet" />],
    ...(receipt.errorReason === undefined ? [] : [["Reason", <Reason key="reason" code={receipt.errorReason} />] as Fact]),
    ...(payment.refund === null
      ? []
      : [["Refund", <Identifier key="refund" id={payment.refund} name="the refund's hash" network={network} />] as Fact]),
  ];
}

function Sale({ sale }: { sale: NonNullable<Payment["sale"]> }) {
  return (
    <Section title="The request" description="Only the owner of the wrapper sees this.">
      <Card>
        <Facts
          items={[
            [
              "Wrapper",
              <PageLink key="wrapper" to={`/sell/${encodeURIComponent(sale.wrapper)}`} className="foreign">
                {sale.slug}
              </PageLink>,
            ],
            ["Request", <code key="request" className="foreign">{`${sale.method} ${sale.path || "/"}`}</code>],
            ["Sent to your API", sale.attempts === 1 ? "once" : `${sale.attempts} times`],
            ["Its last status", sale.upstreamStatus ?? "no complete response"],
            ["Ended", <Time key="ended" at={sale.endedAt} format="short" otherwise="not yet" />],
          ]}
        />
      </Card>
    </Section>
  );
}

const toneOf = ({ state }: Payment): "accent" | "warn" | "good" => {
  if (state === "owed" || state === "unproven" || state === "failed") return "warn";
  return isOpen(state) ? "accent" : "good";
};

function Shown({ payment }: { payment: Payment }) {
  const owner = useOwner();
  const tokens = useTokens();
  const { happened, next } = explain(payment, sideOf(payment, owner?.address ?? null));
  return (
    <>
      <div className={styles["head"]}>
        <span className={styles["total"]}>
          <Money amount={payment.amount} {...tokens(payment.network, payment.asset)} />
        </span>
        <StateBadge state={payment.state} />
      </div>
      <div role="status">
        <Note tone={toneOf(payment)}>
          <strong>{happened}</strong> {next}
        </Note>
      </div>
      {payment.state === "owed" && payment.sale !== undefined && <RefundForm payment={payment} />}
      <Section title="Details">
        <Card>
          <Facts items={factsOf(payment)} />
        </Card>
      </Section>
      {payment.sale !== undefined && <Sale sale={payment.sale} />}
      <Section
        title="Receipt"
        description="What the buyer gets in the header PAYMENT-RESPONSE."
      >
        <CodeBlock name="the receipt" code={JSON.stringify(payment.receipt, null, 2)} />
      </Section>
    </>
  );
}

/** One payment, for everybody who knows its hash; its sale and its refund for the seller alone. */
export function PaymentPage() {
  const transaction = usePathParameter("transaction");
  const owner = useOwner();
  const query = usePayment(transaction);
  return (
    <Page
      title="Payment"
      description={owner === null ? undefined : <PageLink to="/payments">All payments</PageLink>}
    >
      <Answer query={query} name="the payment">
        {(payment) => <Shown payment={payment} />}
      </Answer>
    </Page>
  );
}
