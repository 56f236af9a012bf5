import { NETWORK_NAMES } from "@/api/networks";
import { Badge } from "@/ui/Badge";
import { Section } from "@/ui/Page";
import type { ListingPreview } from "./offer";
import { listingsOf } from "./offer";
import { Prices } from "./Prices";
import styles from "./Sell.module.css";
import type { Wrapper } from "./wrapperDraft";

function Preview({ wrapper, listing }: { wrapper: Wrapper; listing: ListingPreview }) {
  return (
    <article className={styles["listing"]}>
      <div className={styles["listingHead"]}>
        <h3 className="foreign">{wrapper.name}</h3>
        <Prices terms={listing.terms} />
      </div>
      {listing.description === "" ? (
        <p className="soft">No description. A sentence about what a call gives helps the search.</p>
      ) : (
        <p className="foreign">{listing.description}</p>
      )}
      <p className="soft foreign">
        <code>{`${listing.method} ${listing.url}`}</code>
      </p>
      <div className="row">
        <Badge tone="accent">{NETWORK_NAMES[listing.network]}</Badge>
        {wrapper.tags.map((each) => (
          <Badge key={each}>{each}</Badge>
        ))}
        <Badge>{wrapper.mimeType}</Badge>
      </div>
    </article>
  );
}

/** The listings as buyers and agents find them. */
export function ListingPreviews({ wrapper }: { wrapper: Wrapper }) {
  const listings = listingsOf(wrapper);
  return (
    <Section
      title={listings.length === 1 ? "Listing" : "Listings"}
      description={
        wrapper.enabled
          ? "So the catalog shows it to buyers and agents."
          : "So the catalog will show it, as soon as the wrapper is enabled."
      }
    >
      {listings.map((each) => (
        <Preview key={each.key} wrapper={wrapper} listing={each} />
      ))}
    </Section>
  );
}
