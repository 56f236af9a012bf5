import { NETWORK_NAMES } from "@/api/networks";
import { PageLink } from "@/ui/address";
import { Badge } from "@/ui/Badge";
import { Time } from "@/ui/Time";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import { addressOf, shortAddress, titleOf } from "./listing";
import { ListedPrice } from "./ListedPrice";
import { readReason } from "./rankReason";

/** One result: a stranger's name and words, the price, and what the catalog knows. */
export function ListingResult({ listing }: { listing: Listing }) {
  const { accepts, quality, tags = [], description } = listing;
  const first = accepts[0];
  return (
    <li className={styles["result"]}>
      <div>
        <h3 className={styles["title"]}>
          <PageLink to="/discover/listing" search={addressOf(listing)} className="foreign">
            {titleOf(listing)}
          </PageLink>
        </h3>
        <p className={`foreign ${styles["address"]}`}>
          {listing.method ?? (listing.type === "mcp" ? "MCP" : "")} {shortAddress(listing.resource)}
        </p>
      </div>
      <div className={styles["price"]}>
        {first && <ListedPrice listing={listing} terms={first} className={styles["amount"]} />}
        <span className={styles["note"]}>
          {accepts.length > 1 ? `or ${accepts.length - 1} other token${accepts.length > 2 ? "s" : ""}` : "a call"}
        </span>
      </div>
      {description && <p className={`foreign ${styles["description"]}`}>{description}</p>}
      <div className={styles["meta"]}>
        <Badge>{NETWORK_NAMES[listing.network]}</Badge>
        <Ownership listing={listing} />
        <Reachable listing={listing} />
        <Paid quality={quality} />
        {tags.length > 0 && <span className="foreign">{tags.join(" · ")}</span>}
      </div>
      <Why explain={listing.explain} />
    </li>
  );
}

function Paid({ quality }: Pick<Listing, "quality">) {
  const { payers, settlements, listedAt, lastSettledAt } = quality;
  if (settlements === 0) {
    return (
      <span>
        no independent payer yet, listed <Time at={listedAt} />
      </span>
    );
  }
  return (
    <span>
      {payers === 1 ? "1 independent payer" : `${payers} independent payers`}, last paid <Time at={lastSettledAt} />
    </span>
  );
}

export function Ownership({ listing }: { listing: Listing }) {
  return listing.ownership === "verified" ? (
    <Badge tone="good">Ownership verified</Badge>
  ) : (
    <Badge tone="warn">Ownership unverified</Badge>
  );
}

function Reachable({ listing }: { listing: Listing }) {
  const state = listing.probe?.state;
  if (state === undefined || state === "confirmed" || state === "unknown" || state === "not_called") return null;
  return <Badge tone="bad">{state.replaceAll("_", " ")}</Badge>;
}

function Why({ explain }: { explain: unknown }) {
  const reason = readReason(explain);
  if (!reason) return null;
  return (
    <details className={styles["why"]}>
      <summary>Why it ranks here</summary>
      <div className={styles["reason"]}>
        <ul>
          {reason.sentences.map((each) => (
            <li key={each} className="foreign">
              {each}
            </li>
          ))}
        </ul>
        <ul>
          {reason.scores.map(({ label, value }) => (
            <li key={label} className={styles["score"]}>
              <span>{label}</span>
              <meter min={0} max={1000} value={value} aria-label={label} />
              <span className="numbers">{Math.round(value / 10)} %</span>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
