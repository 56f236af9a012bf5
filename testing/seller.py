"""The seller of a gateway, who manages its wrappers over HTTP."""

from dataclasses import dataclass
from typing import Any

import aiohttp

from testing.machine import RunFailed


@dataclass(frozen=True, slots=True)
class Seller:
    """The operator's credential, by which the wrapper is managed."""

    url: str
    key: str

    async def send(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send a request.

        Raises:
            RunFailed: it is refused.
        """
        headers = {"Authorization": f"Bearer {self.key}"}
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.url + path, json=body, headers=headers) as response,
        ):
            if response.status not in (200, 201):
                raise RunFailed(f"{method} {path}: {response.status} {await response.text()}")
            found: dict[str, Any] = await response.json()
            return found
