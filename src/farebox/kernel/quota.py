"""A rate limit as the features that are held to it see it."""

from typing import Protocol


class Quota(Protocol):
    """The rate limit of one action, counted for each client or owner."""

    async def acquire(self, client: str) -> int | None:
        """Count a request: None when it is allowed, else the seconds to wait, at least 1."""
        ...
