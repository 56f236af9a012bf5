import { NETWORK_NAMES } from "@/api/networks";
import { Identifier } from "@/ui/Identifier";
import { Table } from "@/ui/Table";
import type { ListedTerms, Listing } from "./listing";
import { ListedPrice } from "./ListedPrice";

interface Row {
  listing: Listing;
  terms: ListedTerms;
}

/** The terms of a resource on each network where it is listed. */
export function ListingTerms({ listings }: { listings: readonly Listing[] }) {
  const rows: Row[] = listings.flatMap((listing) => listing.accepts.map((terms) => ({ listing, terms })));
  return (
    <Table
      name="Terms on each network"
      rows={rows}
      rowKey={({ terms }) => `${terms.network} ${terms.asset} ${terms.payTo}`}
      columns={[
        { id: "network", label: "Network", cell: ({ terms }) => NETWORK_NAMES[terms.network] },
        { id: "price", label: "Price", cell: ({ listing, terms }) => <ListedPrice listing={listing} terms={terms} /> },
        {
          id: "token",
          label: "Token",
          cell: ({ terms }) => <Identifier id={terms.asset} name="the token" network={terms.network} />,
        },
        {
          id: "recipient",
          label: "Paid to",
          cell: ({ terms }) => <Identifier id={terms.payTo} name="the recipient" network={terms.network} />,
        },
        { id: "time", label: "Valid for", cell: ({ terms }) => `${terms.maxTimeoutSeconds} s` },
      ]}
    />
  );
}
