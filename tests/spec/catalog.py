"""Promises about the catalog: what gets in, what is shown, how it is searched."""

from typing import Final

from spec.promise import section_promises

CATALOG: Final = (
    *section_promises(
        "What the service does",
        {
            "catalog:only-settled-or-enabled": (
                "An entry comes from a settlement with valid metadata or an enabled wrapper only."
            ),
            "catalog:http-and-mcp": "HTTP resources and MCP tools are both listed.",
        },
    ),
    *section_promises(
        "Behavioural guarantees",
        {"catalog:never-from-verify": "No call of verify ever writes an entry."},
    ),
    *section_promises(
        "Settle response",
        {
            "settle:extension-responses": (
                "Settle reports on the listing in EXTENSION-RESPONSES, base64 of a JSON object."
            )
        },
    ),
    *section_promises(
        "Catalog entry",
        {
            "entry:http-key": "An HTTP entry's key is its normalized URL.",
            "entry:mcp-key": "A tool's key is its URL and its name.",
            "entry:tool-name-source": "The tool's name is input.toolName of the discovery info.",
            "entry:terms-as-settled": (
                "The terms shown are those settled, never the client's word alone."
            ),
            "entry:precision-kept": "Networks and amounts are kept to the letter and the digit.",
            "entry:last-update": "An entry says when it was last updated.",
            "entry:shows-what-a-buyer-needs": (
                "A listing carries URL, type, tool name, metadata, terms and extension data."
            ),
            "entry:name-and-tags-weigh-more": (
                "Service name and tags weigh more in search than description and parameters."
            ),
        },
    ),
    *section_promises(
        "Catalog entry",
        {"entry:upstream-hidden": "A wrapper's upstream URL and credentials are never indexed."},
    ),
    *section_promises(
        "Browse and search responses",
        {
            "browse:shape": "Browsing answers x402Version, items and pagination.",
            "search:shape": "Searching answers ranked resources, a cursor and partialResults.",
            "search:opaque-cursor": "The cursor is opaque, and one that was made up is refused.",
        },
    ),
    *section_promises(
        "States: catalog entry",
        {
            "catalog:listed-after-settle": (
                "A settlement with valid, matching metadata lists its resource and says so."
            ),
            "catalog:bad-metadata-stays-out": (
                "Invalid metadata lists nothing and is reported with a reason."
            ),
        },
    ),
    *section_promises(
        "Endpoints: discovery",
        {
            "browse:filter-type": "Browsing filters by type.",
            "browse:filter-pay-to": "Browsing filters by exact recipient.",
            "browse:filter-scheme": "Browsing filters by scheme.",
            "browse:filter-network": "Browsing filters by network.",
            "browse:filter-extensions": "Browsing filters by a required extension key.",
            "browse:limit-capped": "The page size has a cap of the server's.",
            "browse:offset": "The offset is a non-negative integer.",
            "search:query-required": "A search without a query is refused.",
            "search:filters": "Searching takes the same filters as browsing.",
            "search:web-style-expression": "Quotes, or and minus mean what they do on the web.",
            "search:weighted-relevance": "Results are ranked by weighted full-text relevance.",
            "search:ties-by-freshness": "Equal scores are ordered by freshness.",
            "search:deterministic": "The same query over the same data gives the same order.",
            "search:partial-results": "partialResults says that more lies beyond the page.",
        },
    ),
    *section_promises(
        "Catalog ingestion rules",
        {"ingest:settled-terms": "The catalog's payment terms come from the settlement."},
    ),
    *section_promises(
        "Catalog ingestion rules",
        {
            "ingest:schema-of-the-extension": (
                "Metadata is validated by the schema the extension advertises."
            ),
            "ingest:no-external-references": "A schema with an external reference is refused.",
            "ingest:decode-then-check": (
                "A route template is percent-decoded before it is checked for traversal."
            ),
        },
    ),
    *section_promises(
        "Versioning",
        {
            "version:canonical-resource-shape": (
                "Catalog data has the shape other facilitators' catalogs have."
            )
        },
    ),
)
