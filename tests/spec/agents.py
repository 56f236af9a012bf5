"""Promises to agents: the JSON-RPC endpoint with its two tools, and the skills."""

from typing import Final

from spec.promise import Later, section_promises

_LATER: Final = Later.AGENTS

AGENTS: Final = (
    *section_promises(
        "What the service does",
        {"mcp:two-tools": "The endpoint /mcp has search_services and paid_call."},
    ),
    *section_promises(
        "What the service does",
        {"skills:versioned-registry": "Skills are a static registry with versions."},
        deferred=_LATER,
    ),
    *section_promises(
        "MCP tool shapes",
        {
            "search-services:query-required": "search_services requires a query in plain words.",
            "search-services:network-and-limit": "Network and a limit of 1 to 50 are optional.",
            "search-services:two-contents": "It answers text and structuredContent.",
            "paid-call:inputs": "paid_call takes URL, signature, and optional method and body.",
            "paid-call:outputs": "It answers the upstream's status, body and receipt.",
            "paid-call:unpaid-gives-challenge": (
                "Without a signature it answers the 402 challenge and SIGN_PAYMENT_AND_RETRY."
            ),
        },
    ),
    *section_promises(
        "Endpoints: agent interface",
        {
            "mcp:json-rpc": "POST /mcp speaks JSON-RPC 2.0: initialize, tools/list, tools/call.",
            "mcp:protocol-version": "The protocol version is 2025-06-18.",
            "paid-call:https-only": "paid_call refuses a URL that is not HTTPS.",
            "paid-call:exact-match": "paid_call calls only a URL that is in the catalog exactly.",
            "paid-call:no-redirects": "paid_call follows no redirect.",
            "paid-call:guarded": "paid_call is guarded like a wrapper's upstream call.",
            "paid-call:thirty-seconds": "paid_call gives up after 30 seconds.",
            "paid-call:size-limited": "paid_call limits the size of the answer.",
        },
    ),
    *section_promises(
        "Errors: MCP",
        {
            "mcp:structured-errors": "A failure is a JSON-RPC error with code and data.reason.",
            "mcp:query-required": "A search without a query is QUERY_REQUIRED.",
            "mcp:not-cataloged": "A URL outside the catalog is RESOURCE_NOT_CATALOGED.",
            "mcp:https-required": "A URL without HTTPS is HTTPS_REQUIRED.",
            "mcp:paid-call-failed": "A failed upstream call is PAID_CALL_FAILED.",
        },
    ),
    *section_promises(
        "Skills",
        {
            "skills:list-filters": "Skills are listed by text, protocol, network and action.",
            "skills:spec-header": (
                "A spec states schema version, skill version, category, authentication, networks "
                "and safety flags."
            ),
            "skills:schemas": "A spec gives each action's JSON input and output schema.",
            "skills:errors": "A spec lists each action's deterministic errors and retryability.",
            "skills:endpoints": "A spec names the endpoints it is about.",
            "version:skill-specs": "A spec carries schemaVersion and a semantic version.",
            "version:v1-skills": "Skills live below /v1.",
        },
        deferred=_LATER,
    ),
)
