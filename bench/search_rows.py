"""Synthetic listings as rows of the catalog's tables, and as documents of its search."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import orjson

from bench.search_listings import Synthetic
from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.stellar.known_tokens import USDC

LISTING: Final = (
    *("id", "network", "resource_key", "type", "url", "tool_name", "method", "pay_to"),
    *("bound_at", "description", "mime_type", "service_name", "tags", "extensions"),
    *("extension_keys", "parameters", "listed_at", "updated_at"),
    *("settled_in_ledger", "settled_at"),
)
TERMS: Final = (
    *("listing_id", "scheme", "asset", "amount", "pay_to", "max_timeout_s"),
    *("settled_in_ledger", "settled_at"),
)
PAYER: Final = ("listing_id", "payer", "settlements", "first_at", "last_at")


def listing_row(each: Synthetic, now: datetime) -> tuple[object, ...]:
    """Build a row of `listings`, columns as in `LISTING`."""
    at = _at(each, now)
    return (
        *(each.number, each.network, each.key, each.type, each.url, each.tool_name or None),
        *("GET" if each.type is ListingType.HTTP else None, each.pay_to),
        *(at, each.description, "application/json", each.service_name, each.tags),
        *(extensions_of(each), ["bazaar"], each.parameters, at, at, each.number, at),
    )


def extensions_of(each: Synthetic) -> bytes:
    """Build the discovery extension of a seller, with an example and a schema."""
    names = each.parameters.split()
    query = {name: {"type": "string", "description": f"The {name}"} for name in names}
    body = {
        "info": {"input": {"type": each.type.value, "queryParams": dict.fromkeys(names, "text")}},
        "schema": {"type": "object", "properties": query},
    }
    return orjson.dumps({"bazaar": body})


def terms_row(each: Synthetic, now: datetime) -> tuple[object, ...]:
    """Build a row of `listing_terms`, columns as in `TERMS`."""
    asset = USDC[each.network].contract
    at = _at(each, now)
    return each.number, "exact", asset, each.amount, each.pay_to, 60, each.number, at


def payer_rows(each: Synthetic, now: datetime) -> Iterator[tuple[object, ...]]:
    """Build the rows of `listing_payers`, columns as in `PAYER`."""
    at = _at(each, now)
    for turn, payer in enumerate(each.payers):
        yield each.number, payer, 1 + turn % 3, at - timedelta(days=1), at


def document(each: Synthetic, now: datetime) -> SearchDocument:
    """Build the document that the catalog gives to the search."""
    return SearchDocument(
        listing_id=each.number,
        network=each.network,
        type=each.type,
        service_name=each.service_name,
        tags=each.tags,
        tool_name=each.tool_name,
        description=each.description,
        parameters=each.parameters,
        url=each.url,
        updated_at=_at(each, now),
        payers=len(each.payers),
    )


def _at(each: Synthetic, now: datetime) -> datetime:
    return now - timedelta(seconds=each.age_s)
