import { PurchaseProblem } from "@/payment/seller";
import { Button } from "@/ui/Button";
import { CodeBlock } from "@/ui/CodeBlock";
import { Actions } from "@/ui/Dialog";
import { Problem } from "@/ui/PageState";
import { chosenWallet, WALLETS } from "@/wallet/wallets";
import styles from "./Discover.module.css";
import type { CallFlow, CallPurchase } from "./pay";

interface PaymentReviewProps {
  flow: Extract<CallFlow, { step: "review" | "signing" }>;
  purchase: CallPurchase;
}

/** What will be signed, in sentences made from its bytes, and the button that has it signed. */
export function PaymentReview({ flow, purchase }: PaymentReviewProps) {
  const { review } = flow;
  const wallet = WALLETS.find((each) => each.name === review.walletName) ?? chosenWallet();
  const isSigning = flow.step === "signing";
  return (
    <div className="stack">
      {flow.step === "review" && flow.problem !== null && (
        <Problem error={flow.problem} isSmall>
          {!(flow.problem instanceof PurchaseProblem) && <p>Nothing was paid.</p>}
        </Problem>
      )}
      <h3>You will sign with {review.walletName}</h3>
      <ul className={styles["statements"]}>
        {review.statements.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
      <p className="soft">These sentences were read from the bytes that the wallet gets, and compared with the price that the seller asks.</p>
      <details className={styles["fold"]}>
        <summary>The bytes (HashIDPreimage, base64 XDR)</summary>
        <CodeBlock name="the preimage" code={review.prepared.preimage} isWrapped />
      </details>
      <Actions>
        <Button onClick={purchase.back} disabled={isSigning}>
          Do not pay
        </Button>
        <Button kind="primary" isPending={isSigning} onClick={() => purchase.sign(wallet)}>
          {isSigning ? `Confirm in ${review.walletName}` : "Sign and pay"}
        </Button>
      </Actions>
    </div>
  );
}
