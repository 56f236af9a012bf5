"""The credential of an upstream request: the wrapper's secret as a header."""

from collections.abc import Collection
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


class UpstreamCredentials:
    """Reads a wrapper's secret for one request; it is never kept."""

    def __init__(self, secrets: SecretSource) -> None:
        self._secrets = secrets

    async def read(self, wrapper: Wrapper) -> tuple[str, Secret[str]] | None:
        """Return the name and the value of the credential's header; None for a wrapper without.

        Raises:
            Outage: the secret is gone or cannot be opened: the upstream is never called without.
        """
        upstream = wrapper.settings.upstream
        if upstream.secret_id is None:
            return None
        value = await self._secrets.read(wrapper.owner, upstream.secret_id, purposes=_PURPOSES)
        if upstream.auth is UpstreamAuth.BEARER:
            return "Authorization", Secret(f"Bearer {value.reveal()}")
        return upstream.auth_header or "Authorization", value
