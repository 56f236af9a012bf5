import type { Quote } from "@/api/automationTypes";
import { Money } from "@/ui/Money";
import { Facts } from "@/ui/Page";
import { Time } from "@/ui/Time";
import { usePlanTokens } from "./planTokens";

/** The price of a plan's runs. */
export function QuoteText({ quote, isFinal = true }: { quote: Quote; isFinal?: boolean }) {
  const token = usePlanTokens(quote.network).tokenOf(quote.asset);
  if (quote.isFree && quote.fromCredit > 0) {
    return <p>Nothing is to be paid: {quote.fromCredit === 1 ? "1 run is" : `${quote.fromCredit} runs are`} taken from your credit.</p>;
  }
  if (quote.isFree) return <p>Runs cost nothing on this network: {quote.runs} in all.</p>;
  return (
    <Facts
      items={[
        ["Price of a run", <Money key="run" amount={quote.perRun} {...token} />],
        ["Runs", <span key="runs" className="numbers">{quote.runs}</span>],
        ...(quote.setup === "0" ? [] : [["Setup", <Money key="setup" amount={quote.setup} {...token} />] as const]),
        ...(quote.fromCredit === 0
          ? []
          : [["From your credit", <span key="credit" className="numbers">{quote.fromCredit} runs</span>] as const]),
        ["To pay", <strong key="total"><Money amount={quote.total} {...token} /></strong>],
        ...(isFinal ? [["Valid until", <Time key="until" at={quote.validUntil} />] as const] : []),
      ]}
    />
  );
}
