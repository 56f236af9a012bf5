import type { ReactNode } from "react";
import { Card, Facts } from "@/ui/Page";
import { Time } from "@/ui/Time";
import type { Listing } from "./listing";
import { Ownership } from "./ListingResult";

const PROBES: Record<string, string> = {
  confirmed: "It answers with the price of this listing.",
  no_payment_asked: "It answered without asking for a payment.",
  not_called: "It has not been called yet.",
  other_recipient: "It asks for a payment to another recipient.",
  unknown: "Its answer was not clear.",
  unreachable: "It could not be reached.",
  unreadable: "Its answer could not be read.",
};

/** What the catalog knows of a listing, apart from its price and its schema. */
export function ListingFacts({ listing }: { listing: Listing }) {
  const { quality, probe, tags = [] } = listing;
  const isVerified = listing.ownership === "verified";
  const items: (readonly [string, ReactNode])[] = [
    ["Ownership", <Ownership key="ownership" listing={listing} />],
    [
      "Proof",
      isVerified
        ? "The resource itself has answered a 402 that names this recipient."
        : "A payment to this recipient named the resource. Nothing more is known.",
    ],
    ["Independent payers", <span key="payers" className="numbers">{quality.payers}</span>],
    ["Their payments", <span key="settlements" className="numbers">{quality.settlements}</span>],
    [
      "Last paid",
      quality.settlements === 0 ? "by no independent payer yet" : <Time key="last" at={quality.lastSettledAt} />,
    ],
    ["Listed", <Time key="listed" at={quality.listedAt} />],
    ["Type", listing.type === "mcp" ? "A tool of an MCP server" : `HTTP, ${listing.method ?? "any method"}`],
  ];
  if (listing.toolName !== undefined) items.push(["Tool", <span key="tool" className="foreign">{listing.toolName}</span>]);
  if (listing.mimeType !== undefined) items.push(["Response", <span key="mime" className="foreign">{listing.mimeType}</span>]);
  if (tags.length > 0) items.push(["Tags", <span key="tags" className="foreign">{tags.join(", ")}</span>]);
  if (probe) {
    items.push([
      "Last look",
      <span key="probe">
        {PROBES[probe.state] ?? probe.state} <Time at={probe.checkedAt} />
      </span>,
    ]);
  }
  return (
    <Card>
      <Facts items={items} />
    </Card>
  );
}
