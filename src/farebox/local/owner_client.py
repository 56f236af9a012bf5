"""Requests to the service's own routes, as a signed-in wallet or with an API key."""

from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec
from stellar_sdk import TransactionEnvelope

from farebox.buyer.wallet import Wallet
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.faults import LocalFault

_TIMEOUT_S: Final = 60.0
Body = Mapping[str, object]


class OwnerClient:
    """Sends requests with a token; None: without one, to sign in."""

    def __init__(self, service_url: str, token: Secret[str] | None) -> None:
        self._url, self._token = service_url, token

    async def get(self, path: str) -> dict[str, Any]:
        """Read something.

        Raises:
            LocalFault: the service does not answer, or refuses the request.
        """
        return await self._send("GET", path, None)

    async def post(self, path: str, body: Body | None = None) -> dict[str, Any]:
        """Change something.

        Raises:
            LocalFault: as `get`.
        """
        return await self._send("POST", path, body)

    async def _send(self, method: str, path: str, body: Body | None) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        headers = {"Authorization": f"Bearer {self._token.reveal()}"} if self._token else {}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(method, self._url + path, json=body, headers=headers) as response,
            ):
                text = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise LocalFault(f"The service does not answer {method} {path}.") from error
        if response.status not in (200, 201):
            said = text.decode(errors="replace")[:300]
            raise LocalFault(f"{method} {path} was answered {response.status}: {said}")
        return msgspec.json.decode(text, type=dict[str, Any])


async def sign_in(service_url: str, network: Network, wallet: Wallet) -> OwnerClient:
    """Sign in with a wallet (SEP-10).

    Raises:
        LocalFault: the service refuses it.
    """
    anybody = OwnerClient(service_url, None)
    who = {"network": network.value, "address": wallet.address}
    challenge = await anybody.post("/v1/auth/challenge", who)
    envelope = TransactionEnvelope.from_xdr(challenge["transactionXdr"], network.passphrase)
    envelope.sign(wallet.keypair())
    signed = {"network": network.value, "transactionXdr": envelope.to_xdr()}
    session = await anybody.post("/v1/auth/verify", signed)
    return OwnerClient(service_url, Secret(str(session["token"])))
