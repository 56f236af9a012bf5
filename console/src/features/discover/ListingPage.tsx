import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { NETWORK_NAMES } from "@/api/networks";
import { PageLink, useAddress } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { ExternalLink } from "@/ui/ExternalLink";
import { Page, Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import { findListing, onEachNetwork, titleOf } from "./listing";
import { ListingFacts } from "./ListingFacts";
import { ListingSchemas } from "./ListingSchemas";
import { ListingTerms } from "./ListingTerms";
import { TryIt } from "./TryIt";

const READ_AT_ONCE = 100;
const MOST_LISTINGS = 2_000;

/** Reads the listings of a recipient until the one that is looked for is among them. */
async function readListings(payTo: string, resource: string, signal: AbortSignal): Promise<Listing[]> {
  const found: Listing[] = [];
  for (let offset = 0; offset < MOST_LISTINGS; offset += READ_AT_ONCE) {
    const query = { payTo, limit: READ_AT_ONCE, offset } as never;
    const { items, pagination } = await call("GET /discovery/resources", { query }, { signal });
    found.push(...items.filter((each) => each.resource === resource));
    if (items.length === 0 || offset + items.length >= pagination.total) break;
  }
  return found;
}

/** One listing: what it is, what it costs on each network, how it is called, and a try. */
export function ListingPage() {
  const { resource, network, method, tool, payTo } = useAddress();
  const query = useQuery({
    queryKey: [...keys.listings, "one", payTo, resource],
    queryFn: ({ signal }) => readListings(payTo ?? "", resource ?? "", signal),
    enabled: payTo !== undefined && resource !== undefined,
  });
  const wanted = { resource, network, method, tool };
  if (payTo === undefined || resource === undefined) return <NotListed />;
  const listing = findListing(query.data ?? [], wanted);
  const all = query.data ?? [];
  return (
    <Page
      title={listing ? titleOf(listing) : "Listing"}
      description={<ExternalLink href={resource} />}
      actions={<PageLink to="/discover">All listings</PageLink>}
    >
      <Answer query={query} name="the listing" isEmpty={() => listing === undefined} empty={<Missing />}>
        {() => listing && <Content listing={listing} all={onEachNetwork(all, listing)} />}
      </Answer>
    </Page>
  );
}

function NotListed() {
  return (
    <Page title="Listing">
      <Missing />
    </Page>
  );
}

function Missing() {
  return (
    <Empty title="This is not in the catalog" action={<PageLink to="/discover">Search the catalog</PageLink>}>
      It was taken down, its recipient changed, or the link is not complete.
    </Empty>
  );
}

function Content({ listing, all }: { listing: Listing; all: readonly Listing[] }) {
  return (
    <div className={styles["columns"]}>
      <div className={styles["main"]}>
        {listing.description && <p className="foreign">{listing.description}</p>}
        <ListingFacts listing={listing} />
        <Section title="Price" description="As the catalog has it. The seller's own answer counts, which “Try it” asks for.">
          <ListingTerms listings={all} />
        </Section>
      </div>
      <aside className={styles["aside"]} aria-label="Try it">
        <TryIt listing={listing} />
      </aside>
      <div>
        <Section title="Request and response" description={`The seller's own schema, ${NETWORK_NAMES[listing.network]}.`}>
          <ListingSchemas listing={listing} />
        </Section>
      </div>
    </div>
  );
}
