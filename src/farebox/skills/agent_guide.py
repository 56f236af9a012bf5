"""`/llms.txt`: one page that tells an agent what the service offers and where it is.

The form is that of llmstxt.org: a title, a summary, and lists of links.
"""

from collections.abc import Iterable, Iterator, Sequence

from farebox.kernel.networks import Network
from farebox.skills.skill import Skills

_SUMMARY = (
    "Farebox is an x402 facilitator, a catalog of paid APIs, a paid gateway and an agent interface "
    "on Stellar. It pays the network fees, and never holds a buyer's money or keys."
)
_PAYING = (
    "To pay: find a service, ask it for its price (HTTP 402), have the user's wallet sign one "
    "authorization, and send the request again with it. The same payment is never charged twice. "
    "Amounts are whole base units as text; the network is always named."
)


def agent_guide(skills: Skills, origin: str, networks: Sequence[Network]) -> str:
    """Write the page; `origin` is the public URL of the service without a trailing slash."""
    served = ", ".join(networks) or "none at present"
    lines = ["# Farebox", "", f"> {_SUMMARY}", "", _PAYING, "", f"Networks served here: {served}."]
    lines += ["", "## Start", "", *_links(origin, _START)]
    lines += ["", "## Skills", ""]
    lines += [
        "Each skill is a contract: schemas of every input and output, errors, and endpoints.",
        "",
    ]
    for slug, skill in skills.items():
        spec = skill.latest.spec
        page = f"[{spec.name}]({origin}/v1/skills/{slug}/SKILL.md)"
        lines.append(f"- {page}: {spec.summary} [spec]({origin}/v1/skills/{slug}/spec)")
    lines += ["", "## Reference", "", *_links(origin, _REFERENCE)]
    return "\n".join(lines) + "\n"


_START = (
    ("MCP server", "/mcp", "POST, protocol 2025-06-18: search_services and paid_call"),
    ("All skills", "/v1/skills", "filter by query, protocol, network and action"),
    ("Search", "/discovery/search?query=weather", "paid APIs and tools, by words and by meaning"),
    ("Supported payments", "/supported", "schemes, networks and fee sponsors"),
)
_REFERENCE = (
    ("Paid APIs of the gateway", "/openapi.json", "OpenAPI 3.1 with the price of each operation"),
    ("This service's API", "/v1/openapi.json", "OpenAPI 3.1 of every route"),
    ("Paid URLs", "/.well-known/x402", "the same paid operations as a list of URLs"),
    ("Error codes", "/v1/errors", "every reason code, and whether to retry or to reconcile"),
    ("Networks", "/v1/networks", "protocol, ledger, fees and USDC of each network"),
)


def _links(origin: str, links: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield from (f"- [{name}]({origin}{path}): {words}" for name, path, words in links)
