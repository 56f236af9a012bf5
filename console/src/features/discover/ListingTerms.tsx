import { NETWORK_NAMES } from "@/api/networks";
import { Identifier } from "@/ui/Identifier";
import { Card, Facts } from "@/ui/Page";
import styles from "./Discover.module.css";
import type { ListedTerms, Listing } from "./listing";
import { ListedPrice } from "./ListedPrice";

/** The terms of a resource on each network where it is listed. */
export function ListingTerms({ listings }: { listings: readonly Listing[] }) {
  return (
    <ul className="stack">
      {listings.flatMap((listing) =>
        listing.accepts.map((terms) => (
          <li key={`${terms.network} ${terms.asset} ${terms.payTo}`}>
            <Card>
              <Offer listing={listing} terms={terms} />
            </Card>
          </li>
        )),
      )}
    </ul>
  );
}

function Offer({ listing, terms }: { listing: Listing; terms: ListedTerms }) {
  return (
    <div className={styles["offer"]}>
      <p>
        <ListedPrice listing={listing} terms={terms} /> <span className={styles["note"]}>on {NETWORK_NAMES[terms.network]}</span>
      </p>
      <Facts
        items={[
          ["Token", <Identifier key="token" id={terms.asset} name="the token" network={terms.network} />],
          ["Paid to", <Identifier key="to" id={terms.payTo} name="the recipient" network={terms.network} />],
          ["Scheme", `${terms.scheme}, valid for ${terms.maxTimeoutSeconds} seconds, no network fee for the payer`],
        ]}
      />
    </div>
  );
}
