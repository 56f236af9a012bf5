import type { SignedPayment } from "@/payment/signedPayment";
import { Identifier } from "@/ui/Identifier";
import { Facts } from "@/ui/Page";
import { Time } from "@/ui/Time";
import type { Listing } from "./listing";
import { ListedPrice } from "./ListedPrice";

/** What is known of a signed payment. */
export function PaymentFacts({ listing, payment, isOpen }: { listing: Listing; payment: SignedPayment<unknown>; isOpen: boolean }) {
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
              ["Last ledger", <span key="ends"><span className="numbers">{payment.expirationLedger}</span>, at about <Time at={payment.expiresAt} format="short" /></span>],
              ["Times sent", <span key="sent" className="numbers">{payment.attempts}</span>],
            ] as const)
          : []),
      ]}
    />
  );
}
