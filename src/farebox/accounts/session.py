"""A wallet's user and session, and their limits."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret

ID_KIND: Final = "ses"
LIFE: Final = timedelta(hours=24)
MAX_LIVE: Final = 100  # sessions of one user; a further one revokes the oldest


@dataclass(frozen=True, slots=True)
class User:
    """A wallet on one network; its id is derived from both."""

    id: OwnerId
    network: Network
    address: Address


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session with its token, which is shown once."""

    id: str
    token: Secret[str]
    user: User
    expires_at: datetime
