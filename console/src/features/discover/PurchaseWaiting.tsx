import { Button } from "@/ui/Button";
import { Actions } from "@/ui/Dialog";
import { Problem, useCountdown } from "@/ui/PageState";
import { formatSeconds } from "@/ui/time";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import type { CallFlow, CallPurchase } from "./pay";
import { PaymentFacts } from "./PaymentFacts";
import { wordsOf } from "./purchaseWords";
import { Response } from "./Response";

interface PurchaseWaitingProps {
  listing: Listing;
  flow: Extract<CallFlow, { step: "paying" | "waiting" }>;
  purchase: CallPurchase;
}

/** A signed payment whose outcome is not known. It continues by itself, with the same signature. */
export function PurchaseWaiting({ listing, flow, purchase }: PurchaseWaitingProps) {
  const { payment } = flow;
  const words = wordsOf(flow);
  return (
    <div className="stack">
      <div className="stack" role="status" aria-live="polite">
        <p className={styles["pending"]}>
          <span className={styles["dot"]} aria-hidden="true" />
          {words?.title}
        </p>
        <p>{words?.sentences.join(" ")}</p>
      </div>
      {flow.step === "waiting" && <Again flow={flow} purchase={purchase} />}
      <PaymentFacts listing={listing} payment={payment} isOpen />
      {flow.step === "waiting" && flow.last.answer && <Response delivery={flow.last.answer} />}
    </div>
  );
}

function Again({ flow, purchase }: { flow: Extract<CallFlow, { step: "waiting" }>; purchase: CallPurchase }) {
  const { last, payment } = flow;
  const left = useCountdown(flow.dueAt, Math.ceil(flow.seconds));
  return (
    <>
      {last.problem === null ? <p className="foreign">{last.message}</p> : <Problem error={last.problem} isSmall />}
      <Actions>
        {payment.isOver && <Button onClick={purchase.forget}>I have looked: forget it</Button>}
        <Button onClick={purchase.sendAgain}>Ask now, with the same signature</Button>
      </Actions>
      {last.mayRepeat && left > 0 && <p className="soft numbers">or in {formatSeconds(left)}</p>}
    </>
  );
}
