import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { NETWORK_NAMES, useNetwork, useServedNetworks } from "@/api/networks";
import { PageLink, useAddress, useChangeAddress } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Field, Select } from "@/ui/Field";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { useTyped } from "@/ui/typed";
import styles from "./Discover.module.css";
import type { Listing } from "./listing";
import type { Filters } from "./listingFilters";
import { countFilters, EVERY_NETWORK, isPrice, PAGE_SIZE, queryOf, readFilters, withinPrice } from "./listingFilters";
import { ListingResult } from "./ListingResult";
import { OpenPayments } from "./OpenPayments";
import { readUnderstanding } from "./rankReason";

interface Found {
  listings: Listing[];
  /** The address of the next page, and of the one before where there is one. */
  next: Record<string, string> | null;
  before: Record<string, string | undefined> | null;
  total: number | null;
  understanding: string[];
}

async function search(filters: Filters, signal: AbortSignal): Promise<Found> {
  const { query, cursor } = filters;
  const request = { ...queryOf(filters), query, cursor, explain: "true" as const };
  const page = await call("GET /discovery/search", { query: request }, { signal });
  const next = page.pagination.cursor;
  return {
    listings: page.resources,
    next: next === null ? null : { cursor: next },
    before: cursor === "" ? null : { cursor: undefined },
    total: null,
    understanding: [
      ...readUnderstanding(page.explain),
      ...(page.truncated ? ["More listings fit than all pages show: add a word or a filter."] : []),
    ],
  };
}

async function browse(filters: Filters, signal: AbortSignal): Promise<Found> {
  const { offset } = filters;
  const page = await call("GET /discovery/resources", { query: { ...queryOf(filters), offset } as never }, { signal });
  const { total } = page.pagination;
  const after = offset + page.items.length;
  const earlier = Math.max(0, offset - PAGE_SIZE);
  return {
    listings: page.items,
    next: page.items.length > 0 && after < total ? { offset: String(after) } : null,
    before: offset > 0 ? { offset: earlier > 0 ? String(earlier) : undefined } : null,
    total,
    understanding: [],
  };
}

const FIRST_PAGE = { cursor: undefined, offset: undefined };

/** The catalog: search with filters, or browsing where nothing is searched. All of it is in the address. */
export function DiscoverPage() {
  const filters = readFilters(useAddress(), useNetwork());
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.listings, "page", filters],
    queryFn: ({ signal }) => (filters.query === "" ? browse(filters, signal) : search(filters, signal)),
    placeholderData: (before) => before,
  });
  return (
    <Page title="Discover" description="APIs that are paid by the call. What a listing says is its seller's own word.">
      <OpenPayments />
      <SearchForm filters={filters} />
      <Answer query={{ data, error, refetch }} name="the listings">
        {(found) => <Results found={found} filters={filters} />}
      </Answer>
      {error && (filters.cursor !== "" || filters.offset > 0) && (
        <p>
          <FirstPage>Start again from the first page</FirstPage>
        </p>
      )}
    </Page>
  );
}

function FirstPage({ children }: { children: string }) {
  return (
    <PageLink to="/discover" search={{ ...useAddress(), ...FIRST_PAGE }}>
      {children}
    </PageLink>
  );
}

function SearchForm({ filters }: { filters: Filters }) {
  const served = useServedNetworks();
  const changeAddress = useChangeAddress();
  const change = (changes: Record<string, string>) => changeAddress({ ...changes, ...FIRST_PAGE });
  const [query, setQuery] = useTyped(filters.query, (q) => change({ q }));
  const [payTo, setPayTo] = useTyped(filters.payTo, (text) => change({ payTo: text }));
  const [extension, setExtension] = useTyped(filters.extensions, (extensions) => change({ extensions }));
  const [max, setMax] = useTyped(filters.maxPrice, (text) => change({ max: text }));
  const count = countFilters(filters);
  return (
    <form role="search" className="stack" onSubmit={(event) => event.preventDefault()}>
      <div className={styles["search"]}>
        <Field
          label="What do you need?"
          type="search"
          value={query}
          onChange={setQuery}
          maxLength={2_000}
          placeholder="a weather forecast for Lisbon"
        />
        <Select
          label="Network"
          value={filters.network === "" ? EVERY_NETWORK : filters.network}
          onChange={(network) => change({ network })}
          options={[
            ...served.map((each) => ({ value: each.network, label: NETWORK_NAMES[each.network] })),
            { value: EVERY_NETWORK, label: "Every network" },
          ]}
        />
      </div>
      <details className={styles["more"]} open={count > 0 || undefined}>
        <summary>{count === 0 ? "More filters" : `More filters (${count} set)`}</summary>
        <div className={styles["filters"]}>
          <Select
            label="Type"
            value={filters.type}
            onChange={(type) => change({ type })}
            options={[
              { value: "", label: "Every type" },
              { value: "http", label: "HTTP resource" },
              { value: "mcp", label: "MCP tool" },
            ]}
          />
          <Field
            label="Price of a call, at most"
            unit="USDC"
            inputMode="decimal"
            value={max}
            onChange={setMax}
            error={isPrice(max.trim()) ? undefined : "Write a number, such as 0.01."}
            hint="Applied to each page."
          />
          <Field label="Recipient" value={payTo} onChange={setPayTo} hint="The G… or C… address that is paid." />
          <Field label="Extension" value={extension} onChange={setExtension} hint="Such as bazaar." />
        </div>
      </details>
    </form>
  );
}

function countText(found: Found, shown: number, filters: Filters): string {
  const hidden = found.listings.length - shown;
  const above = hidden === 0 ? "" : ` ${hidden} on this page cost more or have no price in USDC.`;
  if (found.total === null) return `${shown} ${shown === 1 ? "result" : "results"} on this page, the best first.${above}`;
  const first = filters.offset + 1;
  return `${first} to ${filters.offset + found.listings.length} of ${found.total}, by the time they were listed.${above}`;
}

function Results({ found, filters }: { found: Found; filters: Filters }) {
  const served = useServedNetworks();
  const usdcOf = (network: string) => served.find((each) => each.network === network)?.usdc.contract;
  const shown = withinPrice(found.listings, filters.maxPrice, usdcOf);
  const address = useAddress();
  if (found.listings.length === 0) return <NothingFound filters={filters} />;
  return (
    <section className="stack" aria-label="Results">
      <div className="soft">
        <p role="status">{countText(found, shown.length, filters)}</p>
        {found.understanding.map((each) => (
          <p key={each} className="foreign">
            {each}
          </p>
        ))}
      </div>
      <ul className={styles["results"]}>
        {shown.map((each) => (
          <ListingResult key={`${each.network} ${each.method} ${each.toolName} ${each.resource}`} listing={each} />
        ))}
      </ul>
      <nav className={styles["pages"]} aria-label="Pages of results">
        {found.before ? (
          <PageLink to="/discover" search={{ ...address, ...found.before }}>
            {filters.query === "" ? "Previous page" : "First page"}
          </PageLink>
        ) : (
          <span />
        )}
        {found.next && (
          <PageLink to="/discover" search={{ ...address, ...found.next }}>
            Next page
          </PageLink>
        )}
      </nav>
    </section>
  );
}

function NothingFound({ filters }: { filters: Filters }) {
  const isFiltered = filters.network !== "" || countFilters(filters) > 0;
  if (filters.query === "" && !isFiltered) {
    return <Empty title="Nothing is listed yet">A paid API appears here once its first payment is final.</Empty>;
  }
  return (
    <Empty
      title={filters.query === "" ? "No listing has these filters" : "Nothing fits this search"}
      action={
        isFiltered ? (
          <PageLink to="/discover" search={{ q: filters.query, network: EVERY_NETWORK }}>
            Look on every network, without filters
          </PageLink>
        ) : undefined
      }
    >
      Try other words, or fewer filters.
    </Empty>
  );
}
