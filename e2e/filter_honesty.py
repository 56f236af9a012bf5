"""Upstream's rules of filter honesty: a filter is applied, or the answer names it.

V0 an unfiltered page is well formed; V1 to V4 a well-formed value that no listing has (network,
recipient, type, scheme) gives an empty page, never the whole catalog and never a refusal; V5 the
same for an extension; V6 a malformed value is refused or bounded, never ignored; V7 the networks'
pages divide the catalog between them, and an unknown parameter is named.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import aiohttp

from e2e.catalog_expectations import Entry

_UNMATCHED: Final = {
    "V1": "network=eip155:8453",
    "V2": "payTo=0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    "V3": "type=a2a",
    "V4": "scheme=upto",
    "V5": "extensions=nobody-has-this",
}
_MALFORMED: Final = ("offset=-1", "limit=abc", "limit=", "offset=1e3", "network=a&network=b")
_SEARCH: Final = "query=forecast+report&"


async def broken_rules(service: str, entries: Sequence[Entry]) -> list[str]:
    """Find the rules that browsing or searching breaks; empty when all hold."""
    async with aiohttp.ClientSession() as session:
        broken: list[str] = []
        for path, member in (("resources?", "items"), (f"search?{_SEARCH}", "resources")):
            endpoint = _Endpoint(session, f"{service}/discovery/{path}", member)
            broken += await _check_rules(endpoint, entries)
        return broken


class _Endpoint:
    """The browse or the search endpoint."""

    def __init__(self, session: aiohttp.ClientSession, url: str, member: str) -> None:
        self._session, self._url, self.member = session, url, member
        self.name = url.rpartition("/")[2].partition("?")[0]

    async def __call__(self, query: str) -> tuple[int, dict[str, Any]]:
        async with self._session.get(self._url + query) as answer:
            return answer.status, await answer.json()

    async def list_shown(self, query: str) -> list[str] | None:
        """List the resources of a page with their networks; None when it is malformed."""
        status, body = await self(query)
        if status != 200 or body.get("x402Version") != 2 or not isinstance(body[self.member], list):
            return None
        return [f"{item['accepts'][0]['network']} {item['resource']}" for item in body[self.member]]


async def _check_rules(endpoint: _Endpoint, entries: Sequence[Entry]) -> list[str]:
    everything = await endpoint.list_shown("")
    if not everything:
        return [f"{endpoint.name} V0: no whole page without a filter"]
    broken = [
        f"{endpoint.name} {rule}: {query} shows {shown}"
        for rule, query in _UNMATCHED.items()
        if (shown := await endpoint.list_shown(query)) != []
    ]
    broken += [f"{endpoint.name} V6: {line}" for line in await _find_accepted_malformed(endpoint)]
    pages = [
        await endpoint.list_shown(f"network={network}") or []
        for network in sorted({entry.network for entry in entries})
    ]
    divided = sorted(chain.from_iterable(pages)) == sorted(everything)
    if len(pages) < 2 or not divided or not all(pages):
        broken.append(f"{endpoint.name} V7: {pages} is not {everything}")
    _, body = await endpoint("maxUsdPrice=1")
    if body.get("unappliedFilters") != ["maxUsdPrice"]:
        broken.append(f"{endpoint.name} V7: an unknown parameter is not named")
    return broken


async def _find_accepted_malformed(endpoint: _Endpoint) -> list[str]:
    accepted = []
    for query in _MALFORMED:
        if endpoint.member == "resources" and query.startswith("offset"):
            continue  # searching has no offset: it is named as unapplied
        status, body = await endpoint(query)
        if status != 400 or not body.get("error"):
            accepted.append(f"{query} is answered {status}")
    return accepted
