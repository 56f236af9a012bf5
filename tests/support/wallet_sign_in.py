"""The sign-in of a wallet: request a challenge, sign it, have it verified."""

from typing import Any, Final

from stellar_sdk import Keypair, TransactionEnvelope

from farebox.kernel.networks import Network
from support.asgi import Answer, AsgiClient
from support.planted_secrets import plant_secret

# the signing key of the challenges of every staged service
SERVER: Final = Keypair.from_raw_ed25519_seed(b"farebox tests sign challenges so")
DOMAIN: Final = "127.0.0.1"
Json = dict[str, Any]


async def request_challenge(
    client: AsgiClient, address: str, network: Network = Network.TESTNET, **more: object
) -> Json:
    """Request a challenge for the account."""
    request = {"network": network.value, "address": address, **more}
    answer = await client.post("/v1/auth/challenge", request)
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json()


def add_signatures(transaction: str, network: Network, *keys: Keypair) -> str:
    """Add the signatures of these keys to a transaction."""
    envelope = TransactionEnvelope.from_xdr(transaction, network.passphrase)
    for key in keys:  # the same one twice, if so asked
        envelope.signatures.append(key.sign_decorated(envelope.hash()))
    return envelope.to_xdr()


async def verify_challenge(
    client: AsgiClient, transaction: str, network: Network = Network.TESTNET, **more: object
) -> Answer:
    """Send a signed challenge to be verified."""
    request = {"network": network.value, "transactionXdr": transaction, **more}
    return await client.post("/v1/auth/verify", request)


async def try_sign_in(
    client: AsgiClient, address: str, *keys: Keypair, network: Network = Network.TESTNET
) -> Answer:
    """Sign in with a fresh challenge for the account, signed by these keys."""
    challenge = await request_challenge(client, address, network)
    return await verify_challenge(
        client, add_signatures(challenge["transactionXdr"], network, *keys), network
    )


async def new_session(
    client: AsgiClient, key: Keypair | None = None, network: Network = Network.TESTNET
) -> str:
    """Sign in with this key, or a new one; return the session token."""
    key = key or Keypair.random()
    answer = await try_sign_in(client, key.public_key, key, network=network)
    assert answer.status == 200, (answer.status, answer.body)
    return plant_secret(str(answer.json()["token"]))


def bearer(token: str) -> dict[str, str]:
    """Return the `Authorization` header of a token."""
    return {"authorization": f"Bearer {token}"}
