import { Button } from "@/ui/Button";
import { Identifier } from "@/ui/Identifier";
import { Facts } from "@/ui/Page";
import { Problem, useCountdown } from "@/ui/PageState";
import { Time } from "@/ui/Time";
import { formatSeconds } from "@/ui/time";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import { ListedPrice } from "./ListedPrice";
import type { Flow, SignedPayment } from "./purchaseFlow";
import type { Purchase } from "./usePurchase";

interface PurchaseWaitingProps {
  listing: Listing;
  flow: Extract<Flow, { step: "paying" | "waiting" }>;
  purchase: Purchase;
}

const FIRST_TIME =
  "The service carries your signature to the seller and waits for the response. This takes up to half a minute.";
const AGAIN =
  "This page asks again with the same signature, which is never charged twice. Leave it open; a reload continues as well.";

function titleOf({ isPaid }: SignedPayment, isFirst: boolean): string {
  if (isFirst) return "The payment is on its way";
  return isPaid ? "Paid, and not delivered yet" : "The payment is pending";
}

/** A signed payment whose outcome is not known. It continues by itself, with the same signature. */
export function PurchaseWaiting({ listing, flow, purchase }: PurchaseWaitingProps) {
  const { payment } = flow;
  const isFirst = flow.step === "paying" && payment.attempts <= 1;
  return (
    <div className="stack" role="status" aria-live="polite">
      <p className={styles["pending"]}>
        <span className={styles["dot"]} aria-hidden="true" />
        {titleOf(payment, isFirst)}
      </p>
      <p>{isFirst ? FIRST_TIME : `${payment.isPaid ? "You have paid." : "It may have been settled."} ${AGAIN}`}</p>
      {flow.step === "waiting" && <Again flow={flow} onAgain={purchase.sendAgain} />}
      <PaymentFacts listing={listing} payment={payment} isOpen />
    </div>
  );
}

function Again({ flow, onAgain }: { flow: Extract<Flow, { step: "waiting" }>; onAgain: () => void }) {
  const left = useCountdown(flow.dueAt, Math.ceil(flow.seconds));
  return (
    <>
      {flow.problem === null ? <p className="foreign">{flow.message}</p> : <Problem error={flow.problem} isSmall />}
      <div className="row">
        <Button onClick={onAgain}>Ask now, with the same signature</Button>
        {left > 0 && <span className="soft numbers">or in {formatSeconds(left)}</span>}
      </div>
    </>
  );
}

/** What is known of a signed payment. */
export function PaymentFacts({ listing, payment, isOpen }: { listing: Listing; payment: SignedPayment; isOpen: boolean }) {
  const { terms, payer, transaction } = payment;
  return (
    <Facts
      items={[
        ["Amount", <ListedPrice key="amount" listing={listing} terms={terms} />],
        ["From", <Identifier key="from" id={payer} name="the payer" network={terms.network} />],
        ["To", <Identifier key="to" id={terms.payTo} name="the recipient" network={terms.network} />],
        [
          "Transaction",
          transaction === null ? (
            <span key="none" className="soft">
              not known yet
            </span>
          ) : (
            <Identifier key="transaction" id={transaction} name="the transaction hash" network={terms.network} />
          ),
        ],
        ...(isOpen
          ? ([
              ["Signature ends", <Time key="ends" at={payment.expiresAt} />],
              ["Times sent", <span key="sent" className="numbers">{payment.attempts}</span>],
            ] as const)
          : []),
      ]}
    />
  );
}
