"""Challenges made by the SDK alone, honest and otherwise."""

from collections.abc import Callable
from typing import Any, Final

from stellar_sdk import Account, Keypair, ManageData, TransactionBuilder, TransactionEnvelope

from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network

SERVER: Final = Keypair.from_raw_ed25519_seed(bytes([9]) * 32)
CLIENT: Final = Keypair.from_raw_ed25519_seed(bytes([1]) * 32)
DOMAIN: Final = "farebox.example"
TERMS: Final = ChallengeTerms(Network.TESTNET, Address(SERVER.public_key), DOMAIN)
NONCE: Final = "n" * 64


def honest_operations() -> list[ManageData]:
    """The two operations of every challenge."""
    return [
        ManageData(f"{DOMAIN} auth", NONCE, source=CLIENT.public_key),
        ManageData("web_auth_domain", DOMAIN, source=SERVER.public_key),
    ]


def challenge_by_hand(
    *keys: Keypair,
    source: str = SERVER.public_key,
    sequence: int = 0,
    operations: list[Any] | None = None,
    bounds: tuple[int, int] | None = (1_000, 1_300),
    change: Callable[[TransactionBuilder], object] = lambda _: None,
) -> TransactionEnvelope:
    """A challenge of `TERMS` with one thing otherwise, signed by these keys."""
    builder = TransactionBuilder(Account(source, sequence - 1), TERMS.network.passphrase, 100)
    builder.add_time_bounds(*(bounds or (0, 0)))
    for operation in honest_operations() if operations is None else operations:
        builder.append_operation(operation)
    change(builder)
    envelope = builder.build()
    if bounds is None:
        envelope.transaction.preconditions = None
    for key in keys:
        envelope.sign(key)
    return envelope
