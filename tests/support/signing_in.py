"""A wallet as it signs in: asks for a challenge, signs it, sends it back."""

from typing import Any, Final

from stellar_sdk import Keypair, TransactionEnvelope

from farebox.kernel.networks import Network
from support.asgi import Answer, AsgiClient
from support.planted import planted

# what signs the challenges of every staged service
SERVER: Final = Keypair.from_raw_ed25519_seed(b"farebox tests sign challenges so")
DOMAIN: Final = "127.0.0.1"
Json = dict[str, Any]


async def challenge(
    client: AsgiClient, address: str, network: Network = Network.TESTNET, **more: object
) -> Json:
    """A challenge for the account."""
    asked = {"network": network.value, "address": address, **more}
    answer = await client.post("/v1/auth/challenge", asked)
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json()


def signed(transaction: str, network: Network, *keys: Keypair) -> str:
    """The transaction with the signatures of these keys beside those it has."""
    envelope = TransactionEnvelope.from_xdr(transaction, network.passphrase)
    for key in keys:  # the same one twice, if so asked
        envelope.signatures.append(key.sign_decorated(envelope.hash()))
    return envelope.to_xdr()


async def verify(
    client: AsgiClient, transaction: str, network: Network = Network.TESTNET, **more: object
) -> Answer:
    """What the service says to a signed challenge."""
    said = {"network": network.value, "transactionXdr": transaction, **more}
    return await client.post("/v1/auth/verify", said)


async def tried(
    client: AsgiClient, address: str, *keys: Keypair, network: Network = Network.TESTNET
) -> Answer:
    """What the service says to a fresh challenge for the account, signed by these keys."""
    asked = await challenge(client, address, network)
    return await verify(client, signed(asked["transactionXdr"], network, *keys), network)


async def session_of(
    client: AsgiClient, key: Keypair | None = None, network: Network = Network.TESTNET
) -> str:
    """The token of a new session of this wallet, or of one that nobody knows."""
    key = key or Keypair.random()
    answer = await tried(client, key.public_key, key, network=network)
    assert answer.status == 200, (answer.status, answer.body)
    return planted(str(answer.json()["token"]))


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"authorization": f"Bearer {token}"}
