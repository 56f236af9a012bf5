import { NETWORK_NAMES, useTokens } from "@/api/networks";
import { Money } from "@/ui/Money";
import type { Term } from "./wrapperDraft";

/** The prices of a call; the network is named where there are several. */
export function Prices({ terms }: { terms: readonly Term[] }) {
  const tokens = useTokens();
  return (
    <span className="row">
      {terms.map((term) => (
        <span key={`${term.network} ${term.asset}`}>
          <Money amount={term.amount} {...tokens(term.network, term.asset)} />
          {terms.length > 1 && <span className="soft"> on {NETWORK_NAMES[term.network]}</span>}
        </span>
      ))}
    </span>
  );
}
