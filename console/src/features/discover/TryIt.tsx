import { useEffect, useRef, useState } from "react";
import { useOwner } from "@/api/session";
import { Card } from "@/ui/Page";
import { Loading, Problem } from "@/ui/PageState";
import type { Listing } from "./listing";
import { purchaseKey } from "./listing";
import type { CallPurchase } from "./pay";
import { useCallPurchase } from "./pay";
import { ParameterForm } from "./ParameterForm";
import { PaymentReview } from "./PaymentReview";
import { PurchaseOutcome } from "./PurchaseOutcome";
import { PurchaseWaiting } from "./PurchaseWaiting";
import { TermsChoice } from "./TermsChoice";

/** Tries a listing: its parameters, the 402, the signature, the receipt and the response. */
export function TryIt({ listing }: { listing: Listing }) {
  return (
    <Card>
      <h2>Try it</h2>
      {listing.type === "mcp" ? (
        <p>
          This is a tool of another MCP server. Call it there: connect an MCP client that pays by x402 to the address above.
        </p>
      ) : (
        <Steps listing={listing} />
      )}
    </Card>
  );
}

/** Puts the focus on the next step when the button that led to it is gone. */
function useFocusOnStep(step: string) {
  const element = useRef<HTMLDivElement>(null);
  const before = useRef(step);
  useEffect(() => {
    if (before.current !== step && document.activeElement === document.body) element.current?.focus();
    before.current = step;
  }, [step]);
  return element;
}

function Steps({ listing }: { listing: Listing }) {
  const purchase = useCallPurchase(purchaseKey(listing));
  const element = useFocusOnStep(purchase.flow.step);
  return (
    <div className="stack" ref={element} tabIndex={-1}>
      {purchase.isPending ? <Loading name="your purchases" /> : <Step listing={listing} purchase={purchase} />}
    </div>
  );
}

function Step({ listing, purchase }: { listing: Listing; purchase: CallPurchase }) {
  const owner = useOwner();
  const { flow } = purchase;
  const [typed, setTyped] = useState<Record<string, string> | null>(null);
  switch (flow.step) {
    case "form":
    case "asking":
      return (
        <>
          {flow.step === "form" && flow.problem !== null && <Problem error={flow.problem} isSmall />}
          <ParameterForm
            listing={listing}
            values={typed}
            onChange={setTyped}
            isPending={flow.step === "asking"}
            onAsk={purchase.ask}
          />
        </>
      );
    case "offered":
    case "preparing":
      return <TermsChoice listing={listing} flow={flow} purchase={purchase} owner={owner?.address ?? null} />;
    case "review":
    case "signing":
      return <PaymentReview flow={flow} purchase={purchase} />;
    case "paying":
    case "waiting":
      return <PurchaseWaiting listing={listing} flow={flow} purchase={purchase} />;
    case "ended":
      return <PurchaseOutcome listing={listing} flow={flow} purchase={purchase} />;
  }
}
