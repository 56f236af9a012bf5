"""Look for the transaction inside an envelope, after the envelope itself was not found."""

from typing import Protocol

from farebox.stellar.rpc import TransactionFound, TransactionNotFound
from farebox.submission.fate import SentEnvelope


class Rpc(Protocol):
    """The call a look-up makes."""

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound: ...


async def look_up_inner(
    rpc: Rpc, sent: SentEnvelope, inner_hash: bytes
) -> TransactionFound | TransactionNotFound:
    """The transaction inside, which a stranger may have landed in a fee bump of their own.

    The envelope may have landed between the two look-ups. So it is asked for again once its inner
    transaction is found: only an envelope that is still absent was landed by a stranger.
    """
    inner = await rpc.get_transaction(inner_hash.hex())
    if isinstance(inner, TransactionNotFound):
        return inner
    outer = await rpc.get_transaction(sent.tx_hash.hex())
    return outer if isinstance(outer, TransactionFound) else inner
