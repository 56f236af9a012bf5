"""Wrappers for tests: the members of one, and the use cases on a database of their own."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from farebox.catalog.wrapper_listing_store import WrapperListing
from farebox.gateway.wrapper import Wrapper, WrapperSettings
from farebox.gateway.wrappers.manage_wrappers import MAX_WRAPPERS, WrapperListings, Wrappers
from farebox.gateway.wrappers.wire import WrapperFields
from farebox.kernel.caller import Caller
from farebox.storage.pool import Connection, Database
from support.unlimited import Unlimited

ASSET: Final = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
OTHER_ASSET: Final = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"
PAY_TO: Final = "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
OTHER_PAY_TO: Final = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
MEMBERS: Final[dict[str, Any]] = {
    "name": "City weather",
    "upstream_url": "https://api.example.com/v1",
    "network": "stellar:testnet",
    "asset": ASSET,
    "amount": "10000",
    "pay_to": PAY_TO,
}


def wrapper_fields(**members: Any) -> WrapperFields:
    """The members of a wrapper, with some of them changed; None leaves a member out."""
    merged = MEMBERS | members
    return change_fields(**{name: value for name, value in merged.items() if value is not None})


def change_fields(**members: Any) -> WrapperFields:
    """The members of a change."""
    names = {field.name: field.encode_name for field in msgspec.structs.fields(WrapperFields)}
    return msgspec.convert({names[name]: value for name, value in members.items()}, WrapperFields)


class NoChecks:
    """Accepts every wrapper, and records the settings it was asked about."""

    def __init__(self) -> None:
        self.checked: list[WrapperSettings] = []

    async def check(self, settings: WrapperSettings, caller: Caller) -> None:
        """Record the settings."""
        self.checked.append(settings)


class RecordedListings:
    """Records the slugs that are listed."""

    def __init__(self) -> None:
        self.listed: dict[str, Wrapper] = {}

    async def prepare(self, slug: str, settings: WrapperSettings) -> Sequence[WrapperListing]:
        """No listing."""
        return ()

    async def put(
        self, db: Connection, wrapper: Wrapper, listings: Sequence[WrapperListing]
    ) -> None:
        """Record the wrapper."""
        self.listed[wrapper.slug] = wrapper

    async def remove(self, db: Connection, wrapper: Wrapper) -> None:
        """Forget the wrapper."""
        self.listed.pop(wrapper.slug, None)


def wrappers_of(
    database: Database,
    *,
    checks: NoChecks | None = None,
    listings: WrapperListings | None = None,
    max_wrappers: int = MAX_WRAPPERS,
) -> Wrappers:
    """The use cases, without checks of the network and without the catalog."""
    return Wrappers(
        database,
        checks or NoChecks(),
        listings or RecordedListings(),
        Unlimited(),
        max_wrappers=max_wrappers,
    )
