import { PageLink } from "@/ui/address";
import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import type { CallFlow, CallPurchase } from "./pay";
import { Response } from "./Response";
import { wordsOf } from "./purchaseWords";
import { PaymentFacts } from "./PaymentFacts";

interface PurchaseOutcomeProps {
  listing: Listing;
  flow: Extract<CallFlow, { step: "ended" }>;
  purchase: CallPurchase;
}

/** How a purchase ended: the receipt and the response, or why there is none. */
export function PurchaseOutcome({ listing, flow, purchase }: PurchaseOutcomeProps) {
  const { outcome, payment } = flow;
  const words = wordsOf(flow);
  return (
    <div className="stack">
      {words && (
        <div className={`${styles["notice"]} ${styles[words.tone]}`} role="status">
          <h3>{words.title}</h3>
          {words.sentences.map((each) => (
            <p key={each} className="foreign">
              {each}
            </p>
          ))}
        </div>
      )}
      {payment && <PaymentFacts listing={listing} payment={payment} isOpen={false} />}
      {payment?.transaction && (
        <PageLink to={`/payments/${encodeURIComponent(payment.transaction)}`}>Look at the payment</PageLink>
      )}
      {outcome.answer && <Response delivery={outcome.answer} />}
      <Actions>
        <Button onClick={purchase.back}>{payment ? "Call it again" : "Back to the parameters"}</Button>
      </Actions>
    </div>
  );
}
