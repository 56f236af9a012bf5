import { useTokens } from "@/api/networks";
import { shorten } from "@/ui/links";
import { Money } from "@/ui/Money";
import type { Listing } from "./listing";
import { tokenOf } from "./listing";

interface PriceTerms {
  network: string;
  asset: string;
  amount: string;
}

/** An amount of a listing's token. A token that only has a known one's code shows its issuer. */
export function ListedPrice({ listing, terms, className }: { listing: Listing; terms: PriceTerms; className?: string | undefined }) {
  const token = tokenOf(listing, terms.asset, useTokens()(terms.network, terms.asset));
  return (
    <span className={className}>
      <Money amount={terms.amount} decimals={token.decimals} code={token.code} />
      {!token.isKnown && token.issuer !== null && <span className="soft"> of {shorten(token.issuer, 4)}</span>}
    </span>
  );
}
