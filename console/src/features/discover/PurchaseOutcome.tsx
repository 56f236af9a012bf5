import { PageLink } from "@/ui/address";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Actions } from "@/ui/Dialog";
import { useNow } from "@/ui/Time";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import type { CallOutcome, Delivery } from "./purchase";
import { textOf } from "./purchase";
import type { Flow } from "./purchaseFlow";
import { isExpired } from "./purchaseFlow";
import { PaymentFacts } from "./PurchaseWaiting";
import type { Purchase } from "./usePurchase";

const MAX_SHOWN = 100_000;

interface PurchaseOutcomeProps {
  listing: Listing;
  flow: Extract<Flow, { step: "ended" }>;
  purchase: Purchase;
}

type Ended = PurchaseOutcomeProps["flow"]["outcome"];

function titleOf(outcome: Ended): [title: string, tone: "good" | "warn" | "bad"] {
  switch (outcome.kind) {
    case "answered":
      return outcome.isPaid ? ["Paid and delivered", "good"] : ["It answered, and nothing was paid", "good"];
    case "not_paid":
      return outcome.isFailedOnLedger ? ["The payment failed", "bad"] : ["Nothing was paid", "bad"];
    case "undelivered":
      return ["Paid, and not delivered", "warn"];
    case "unclear":
      return ["It is not known whether this was paid", "warn"];
  }
}

/** How a purchase ended: the receipt and the response, or what is known and what to do. */
export function PurchaseOutcome({ listing, flow, purchase }: PurchaseOutcomeProps) {
  const { outcome, payment } = flow;
  const [title, tone] = titleOf(outcome);
  return (
    <div className="stack">
      <div className={`${styles["notice"]} ${styles[tone]}`} role="status">
        <h3>{title}</h3>
        {outcome.kind !== "answered" && <p className="foreign">{outcome.message}</p>}
        {outcome.kind === "unclear" && <p>Do not pay again yet: a second signature may pay twice while the first one is valid.</p>}
        {outcome.kind === "undelivered" && <p>The seller owes you this payment. Quote the transaction when you ask for it back.</p>}
      </div>
      {payment && <PaymentFacts listing={listing} payment={payment} isOpen={outcome.kind === "unclear"} />}
      {payment?.transaction && (
        <PageLink to={`/payments/${encodeURIComponent(payment.transaction)}`}>Look at the payment</PageLink>
      )}
      {"delivery" in outcome && outcome.delivery && <Response delivery={outcome.delivery} />}
      <Next outcome={outcome} flow={flow} purchase={purchase} />
    </div>
  );
}

function Next({ outcome, flow, purchase }: Omit<PurchaseOutcomeProps, "listing"> & { outcome: CallOutcome }) {
  const now = useNow();
  if (outcome.kind !== "unclear" || !flow.payment) {
    return (
      <Actions>
        <Button onClick={purchase.back}>{flow.payment ? "Call it again" : "Back to the parameters"}</Button>
      </Actions>
    );
  }
  const hasEnded = isExpired(flow.payment, now);
  return (
    <>
      <p>
        {hasEnded
          ? "The signature has ended, so nothing new can be taken with it. Look at your account: the payment is there, or it was never made."
          : "This page keeps the signature until it has ended."}
      </p>
      <Actions>
        {hasEnded && <Button onClick={purchase.forget}>I have looked: forget it</Button>}
        <Button kind="primary" onClick={purchase.sendAgain}>
          Ask again with the same signature
        </Button>
      </Actions>
    </>
  );
}

/** The response as text: a stranger's, never markup and never run. */
function Response({ delivery }: { delivery: Delivery }) {
  const text = textOf(delivery);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… (cut off here; ${text.length} characters in all)` : text;
  const kind = delivery.contentType === "" ? "" : `, ${delivery.contentType.slice(0, 80)}`;
  return (
    <div className={styles["schema"]}>
      <h3>Response</h3>
      <p className="soft foreign">
        Status {delivery.status}
        {kind}
        {delivery.encoding === "base64" && ", shown in base64"}
      </p>
      <CodeBlock name="the response" code={shown === "" ? "(empty)" : shown} isWrapped />
    </div>
  );
}
