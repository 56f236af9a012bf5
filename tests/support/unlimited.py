"""A rate limiter without a limit."""


class Unlimited:
    """Admits every request."""

    async def acquire(self, client: str) -> int | None:
        """None: there is one more."""
        del client
        return None
