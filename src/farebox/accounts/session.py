"""A wallet's session: what is kept and shown of it, and how long it lives."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret

ID_KIND: Final = "ses"
LIFE: Final = timedelta(hours=24)
MOST_LIVE: Final = 100  # sessions of one user; another one ends the oldest


@dataclass(frozen=True, slots=True)
class User:
    """A wallet on one network; its id is the same for ever."""

    id: OwnerId
    network: Network
    address: Address


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun; its token is told this once."""

    id: str
    token: Secret[str]
    user: User
    expires_at: datetime
