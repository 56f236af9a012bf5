"""The credential of an upstream request: the wrapper's secret as a header."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.gateway.wrapper import UpstreamAuth, Wrapper
from farebox.kernel.caller import OwnerId
from farebox.kernel.secret import Secret
from farebox.vault.stored_secret import Purpose

_PURPOSES: Final = (Purpose.HEADER, Purpose.BEARER)


class SecretSource(Protocol):
    """Reads the values of secrets, as the vault's `SecretReader` does."""

    async def read(
        self, owner: OwnerId, secret_id: str, *, purposes: Collection[Purpose]
    ) -> Secret[str]:
        """Return the value of the owner's secret."""
        ...


@dataclass(frozen=True, slots=True)
class UpstreamCredential:
    """The secret of an upstream, and the header that it is sent in."""

    name: str
    secret: Secret[str]
    is_bearer: bool = False

    @property
    def value(self) -> Secret[str]:
        """The value of the header."""
        return Secret(f"Bearer {self.secret.reveal()}") if self.is_bearer else self.secret


class UpstreamCredentials:
    """Reads a wrapper's secret for one request; it is never kept."""

    def __init__(self, secrets: SecretSource) -> None:
        self._secrets = secrets

    async def read(self, wrapper: Wrapper) -> UpstreamCredential | None:
        """Return the credential of a wrapper's upstream; None for a wrapper without.

        Raises:
            Outage: the secret is gone or cannot be opened: the upstream is never called without.
        """
        upstream = wrapper.settings.upstream
        if upstream.secret_id is None:
            return None
        value = await self._secrets.read(wrapper.owner, upstream.secret_id, purposes=_PURPOSES)
        if upstream.auth is UpstreamAuth.BEARER:
            return UpstreamCredential("Authorization", value, is_bearer=True)
        return UpstreamCredential(upstream.auth_header or "Authorization", value)
