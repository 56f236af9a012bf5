import type { Quote } from "@/api/automationTypes";
import { Money } from "@/ui/Money";
import { Facts } from "@/ui/Page";
import { Time } from "@/ui/Time";
import { usePlanTokens } from "./planTokens";

/** The price of a plan's runs. */
export function QuoteText({ quote, isFinal = true }: { quote: Quote; isFinal?: boolean }) {
  const token = usePlanTokens(quote.network).tokenOf(quote.asset);
  const usesCredit = BigInt(quote.creditAmount) > 0n;
  if (quote.isFree && usesCredit) {
    return <p>Nothing is to be paid: <Money amount={quote.creditAmount} {...token} /> are taken from your credit.</p>;
  }
  if (quote.isFree) return <p>Runs cost nothing on this network: {quote.runs} in all.</p>;
  return (
    <Facts
      items={[
        ["Price of a run", <Money key="run" amount={quote.perRun} {...token} />],
        ["Runs", <span key="runs" className="numbers">{quote.runs}</span>],
        ...(quote.setup === "0" ? [] : [["Setup", <Money key="setup" amount={quote.setup} {...token} />] as const]),
        ...(usesCredit ? [["From your credit", <Money key="credit" amount={quote.creditAmount} {...token} />] as const] : []),
        ["To pay", <strong key="total"><Money amount={quote.total} {...token} /></strong>],
        ...(isFinal ? [["Valid until", <Time key="until" at={quote.validUntil} />] as const] : []),
      ]}
    />
  );
}
