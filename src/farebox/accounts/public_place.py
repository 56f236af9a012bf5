"""Where the service is found by those who sign in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicPlace:
    """`domain` stands in every challenge; `url` (no slash at its end) leads to the service.

    Without a `url` the service is for this machine alone, at whatever port it listens on.
    """

    domain: str
    url: str | None

    def url_at(self, host: str, port: int) -> str:
        """The service's address, for a request that came in at this host and port."""
        if self.url is not None:
            return self.url
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
